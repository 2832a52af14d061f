"""A queue at work: finds due messages, leases them, hands them to receivers, and wakes when it must.

One task per queue does it all, and only while somebody waits or a lease runs. It sleeps until the earliest
of: the next deliver time, the end of a lease, the end of a receiver's time; a commit that sends and a moved
clock wake it. Nothing polls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from google.protobuf.struct_pb2 import ListValue, Value

from .. import _protos as pb
from ..errors import Refusal, not_found
from ..text import queries
from ..text.definition import QueueDefinition
from ..text.dialect import Dialect, Function
from ..text.statements import at_moved_clock
from ..transport import RpcError
from ..upstream.api import SPANNER, Rows, UpstreamApi
from . import expiry
from .binding import Binder, column_types
from .clock import Clock, parse_timestamp
from .expiry import Expiry
from .feed import PAGE_SIZE, Feed, Filter, Waiter
from .identity import identity_of
from .lease_log import log_lease
from .leases import Lease, Leases

_ROWS_IN_A_ROW = 2000


class Source(Protocol):
    """Where a queue reads its messages."""

    @property
    def path(self) -> str:
        """The database."""
        ...

    @property
    def api(self) -> UpstreamApi:
        """The official emulator."""
        ...

    @property
    def dialect(self) -> Dialect:
        """The dialect of the database."""
        ...

    async def reading_session(self) -> str:
        """Return the session for the gateway's own reads."""
        ...


class Queue:
    """One queue of one database."""

    def __init__(self, definition: QueueDefinition, source: Source, clock: Clock) -> None:
        self.definition = definition
        self.leases = Leases(partial(log_lease, source.path, definition.name))
        self._shapes: dict[Function, pb.ResultSetMetadata] = {}
        self._source = source
        self._clock = clock
        self._expiry = Expiry(self.leases, clock, self.existing, self._checked)
        self._feeds: dict[Filter, Feed] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._paused = False
        self._closed = False

    def pause(self) -> None:
        """Stop to look for messages while the schema changes, until ``redefine`` or ``close``."""
        self._paused = True

    def touch(self) -> None:
        """Look for new messages: a transaction that may have sent some has committed."""
        for feed in self._feeds.values():
            feed.mark()
        self.wake()

    def wake(self) -> None:
        """Look at the clock and at the receivers again."""
        self._wake.set()
        if self._task is None and self._busy():
            self._task = asyncio.create_task(self._run(), name=f"queue {self.definition.name}")

    def redefine(self, definition: QueueDefinition) -> None:
        """Take the definition after a change of the schema, for example with other options."""
        self.definition = definition
        self._paused = False
        self.touch()

    def close(self) -> None:
        """End all receivers: the queue is gone."""
        self._closed = True
        for feed in self._feeds.values():
            feed.fail(self._gone())
        self._feeds.clear()
        self.leases.clear()
        self._expiry.cancel()
        if self._task is not None:
            self._task.cancel()

    def join(self, filter: Filter) -> Feed:
        """Register a receiver with its filter."""
        feed = self._feeds.setdefault(filter, Feed(filter))
        feed.receivers += 1
        return feed

    def leave(self, feed: Feed) -> None:
        """Remove a receiver; the last one takes the feed with it."""
        feed.receivers -= 1
        if feed.receivers == 0 and self._feeds.get(feed.filter) is feed:
            del self._feeds[feed.filter]

    async def take(self, feed: Feed, want: int, until: float, holder: str) -> list[Lease]:
        """Wait for the next batch; an empty one means that the receiver's time is over."""
        if self._closed:
            raise self._gone()
        batch: asyncio.Future[list[Lease]] = asyncio.get_running_loop().create_future()
        waiter = Waiter(want, until, holder, batch)
        feed.waiters.append(waiter)
        self.wake()
        try:
            return await batch
        except asyncio.CancelledError:
            self._abandon(feed, waiter)
            raise

    def give_back(self, leases: list[Lease]) -> None:
        """Return messages that never left the gateway."""
        for lease in leases:
            self.leases.give_back(lease)
        self.touch()

    async def shape(self, function: Function = "RECEIVE") -> pb.ResultSetMetadata:
        """Return the columns of a table function and their types; no ALTER QUEUE changes them."""
        if function not in self._shapes:
            received = function == "RECEIVE"
            sql = queries.no_rows(self.definition, self._source.dialect, received=received)
            rows = await self._source.api.query(await self._source.reading_session(), sql)
            self._shapes[function] = rows.metadata
        return self._shapes[function]

    async def read(self, leases: list[Lease]) -> dict[bytes, list[Value]]:
        """Read the messages of a batch: their columns by their identity, without those that are gone."""
        columns = self.definition.columns
        places = [columns.index(column) for column in self.definition.identity_columns]
        rows = await self._read_keys(columns, [lease.key for lease in leases])
        return {identity_of([row[place] for place in places]): row for row in rows.rows}

    async def existing(self, leases: list[Lease]) -> set[bytes]:
        """Ask which of these messages are still there."""
        if len(leases) <= expiry.BATCH:
            rows = await self._read_keys(self.definition.identity_columns, [lease.key for lease in leases])
        else:
            session = await self._source.reading_session()
            sql = queries.all_identities(self.definition, self._source.dialect)
            rows = await self._source.api.query(session, sql)
        return {identity_of(row) for row in rows.rows}

    async def _read_keys(self, columns: Sequence[str], keys: list[ListValue]) -> Rows:
        session = await self._source.reading_session()
        return await self._source.api.read(session, self.definition.name, columns, keys)

    def _gone(self) -> Refusal:
        return not_found(f"Queue not found: {self.definition.name}")

    def _abandon(self, feed: Feed, waiter: Waiter) -> None:
        if waiter in feed.waiters:
            feed.waiters.remove(waiter)
        elif waiter.batch.done() and not waiter.batch.cancelled() and waiter.batch.exception() is None:
            self.give_back(waiter.batch.result())

    def _busy(self) -> bool:
        return bool(len(self.leases)) or any(feed.waiters for feed in self._feeds.values())

    async def _run(self) -> None:
        try:
            while self._busy():
                await self._turn()
        except Exception as error:
            for feed in self._feeds.values():
                feed.fail(error)
            raise
        finally:
            self._task = None

    async def _turn(self) -> None:
        self._wake.clear()
        if not self._paused:
            self._expiry.start()
        for feed in list(self._feeds.values()):
            await self._guarded(feed)
        await self._sleep()

    async def _guarded(self, feed: Feed) -> None:
        try:
            await self._serve(feed)
        except RpcError as error:
            # Upstream said no: every receiver that waits for this answer is told.
            if not self._paused:
                feed.fail(error)

    def _checked(self, due_again: bool) -> None:
        if due_again:
            self.touch()
        else:
            self.wake()

    async def _serve(self, feed: Feed) -> None:
        now = self._clock.now()
        feed.end_expired(now)
        if feed.next_due is not None and feed.next_due <= now:
            feed.next_due = None
            feed.mark()
        while feed.waiters and not self._paused and not self.definition.enabled("disable_delivery"):
            if feed.needs_scan:
                await self._scan(feed)
            if not feed.ready:
                break
            feed.hand_out(self.leases, self._clock.now)

    async def _scan(self, feed: Feed) -> None:
        after = feed.more_after
        if not after:
            feed.dirty = False
        limit = PAGE_SIZE if after else PAGE_SIZE + self.leases.unavailable(self._clock.now())
        rows = (await self._query(feed.filter, limit, after)).rows
        now = self._clock.now()
        feed.next_due, feed.more_after = None, b""
        for count, row in enumerate(rows, 1):
            if count % _ROWS_IN_A_ROW == 0:
                # Others are not kept waiting by a large backlog.
                await asyncio.sleep(0)
            if (due := parse_timestamp(row[-1].string_value)) > now:
                feed.next_due = due
                return
            message_id = identity_of(row)
            if self.leases.available(message_id, now):
                feed.ready.append(message_id)
        if len(rows) == limit:
            feed.more_after = identity_of(rows[-1])

    async def _query(self, filter: Filter, limit: int, after: bytes) -> Rows:
        request = pb.ExecuteSqlRequest()
        filter.apply_parameters(request)
        request.session = await self._source.reading_session()
        dialect = self._source.dialect
        where = at_moved_clock(filter.where, self._clock.offset, dialect)
        bind = Binder(request, dialect, column_types(await self.shape()))
        values = ListValue.FromString(after).values
        source = queries.Candidates(self.definition, dialect, filter.alias, filter.renamed)
        request.sql = source.select(where, limit, values, bind)
        return await self._source.api.stream(SPANNER + "ExecuteStreamingSql", request)

    async def _sleep(self) -> None:
        times = [waiter.until for feed in self._feeds.values() for waiter in feed.waiters]
        times += [
            feed.next_due for feed in self._feeds.values() if feed.waiters and feed.next_due is not None
        ]
        check = None if self._expiry.running else self.leases.next_check()
        if check is not None:
            times.append(check)
        if self._paused or not times:
            await self._wake.wait()
            return
        try:
            await asyncio.wait_for(self._wake.wait(), max(0.0, min(times) - self._clock.now()))
        except TimeoutError:
            return
