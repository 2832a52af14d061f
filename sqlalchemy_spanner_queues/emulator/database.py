"""What the gateway keeps of a database: its queues, its transactions, and a session for its own reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from .delivery.clock import Clock
from .delivery.queue import Queue
from .text.ddl import Schema, restore
from .text.definition import QueueDefinition
from .text.dialect import Dialect
from .text.dialects import dialect_of
from .text.information_schema import references, with_queues
from .text.policies import Policy, policies
from .upstream.api import OWN_SESSION, UpstreamApi
from .writing.client_sessions import ClientSessions
from .writing.row_deletion import delete_expired
from .writing.transactions import Transactions


class Database:
    """One database of the official emulator."""

    def __init__(self, path: str, api: UpstreamApi, clock: Clock) -> None:
        self.path = path
        self.api = api
        self.transactions = Transactions(path, api)
        self.sessions = ClientSessions(api)
        self.queues: dict[str, Queue] = {}
        self.changes = asyncio.Lock()
        """Held while a change of the schema is planned and made: the next one builds on it."""
        self._clock = clock
        self._schema_version = 1
        self._loaded_version = 0
        self._loading = asyncio.Lock()
        self._session: str | None = None
        self._dialect: Dialect | None = None
        self._schema = Schema()
        self._policies: list[Policy] = []
        self._views: dict[str, Sequence[str]] = {}

    @property
    def dialect(self) -> Dialect:
        """The dialect of the database, once its schema was read."""
        if self._dialect is None:
            raise RuntimeError(f"the schema of {self.path} was not read yet")
        return self._dialect

    async def known_dialect(self) -> Dialect:
        """Return the dialect of the database."""
        await self._load()
        return self.dialect

    async def schema(self) -> Schema:
        """Return the queues and roles of the database."""
        await self._load()
        return self._schema

    @asynccontextmanager
    async def changing_schema(self, dropped: Iterable[str]) -> AsyncGenerator[None]:
        """Read the schema again afterwards: it changes; queues rest meanwhile.

        ``dropped`` names queues (lower case) that are over even when there is one of that name afterwards.
        """
        for queue in self.queues.values():
            queue.pause()
        try:
            yield
            for name in self.queues.keys() & set(dropped):
                self.queues.pop(name).close()
        finally:
            self._schema_version += 1
            await self._load()

    async def definitions(self) -> Mapping[str, QueueDefinition]:
        """Return the queues of the database by lower-case name, as upstream knows them."""
        return (await self.schema()).queues

    async def with_queues(self, sql: str) -> str:
        """Make a query of INFORMATION_SCHEMA show queues."""
        schema, dialect = await self.schema(), await self.known_dialect()
        found = references(sql, dialect)
        if not found:
            return sql
        columns = {view: await self._view_columns(view) for view in {reference.view for reference in found}}
        return with_queues(sql, found, schema, dialect, columns)

    async def _view_columns(self, view: str) -> Sequence[str]:
        if view in ("routines", "parameters"):
            return ()
        if view not in self._views:
            session = await self.reading_session()
            rows = await self.api.query(session, f"SELECT * FROM information_schema.{view} LIMIT 0")
            self._views[view] = [field.name for field in rows.metadata.row_type.fields]
        return self._views[view]

    async def queue(self, name: str) -> Queue | None:
        """Find a queue by its name in any letter case."""
        await self._load()
        return self.queues.get(name.lower())

    async def reading_session(self) -> str:
        """Return the session for the gateway's own reads; it is made once."""
        if self._session is None:
            self._session = await self.api.create_session(self.path, f"{OWN_SESSION}reader")
        return self._session

    def sent(self, names: Iterable[str]) -> None:
        """Wake the receivers of queues that a committed transaction may have sent to."""
        for name in names:
            queue = self.queues.get(name)
            if queue is not None:
                queue.touch()

    def wake(self) -> None:
        """Let all queues look at the clock again."""
        for queue in self.queues.values():
            queue.wake()

    def forget_leases(self) -> None:
        """Make every message available that was leased."""
        for queue in self.queues.values():
            queue.leases.clear()
            queue.touch()

    def schema_changed(self) -> None:
        """Read the schema again when it is next needed."""
        self._schema_version += 1

    async def delete_expired(self) -> None:
        """Carry out the row deletion policies by the moved clock."""
        await self._load()
        for policy in self._policies:
            session = await self.reading_session()
            await delete_expired(
                self.api, self.transactions, session, policy, self.dialect, self._clock.offset
            )

    def close(self) -> None:
        """End everything: the database is dropped."""
        for queue in self.queues.values():
            queue.close()
        self.queues.clear()
        self.transactions.close()

    async def _load(self) -> None:
        if self._loaded_version == self._schema_version:
            return
        async with self._loading:
            version = self._schema_version
            if self._loaded_version != version:
                if self._dialect is None:
                    self._dialect = dialect_of(await self.api.dialect(await self.reading_session()))
                statements = await self.api.schema(self.path)
                _, self._schema = restore(statements, self._dialect)
                self._policies = policies(statements, self._dialect)
                self._adopt(self._schema.queues)
                self._loaded_version = version

    def _adopt(self, definitions: Mapping[str, QueueDefinition]) -> None:
        for name in [name for name in self.queues if name not in definitions]:
            self.queues.pop(name).close()
        for name, definition in definitions.items():
            queue = self.queues.get(name)
            if queue is None:
                self.queues[name] = Queue(definition, self, self._clock)
            else:
                queue.redefine(definition)
