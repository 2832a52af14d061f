"""Official clients that talk to a gateway; no change to the environment outlives the call."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from .upstream.find import ENVIRONMENT

if TYPE_CHECKING:
    from google.cloud.spanner_v1 import Client
    from sqlalchemy import Engine

PROJECT: Final = "spanner-queues"

# Spanner and its emulator allow no more.
_DATABASES_PER_INSTANCE: Final = 100

_environment = threading.Lock()


@contextmanager
def _emulator_host(host: str) -> Generator[None, None, None]:
    # The client reads the variable once, when it is made; it has no argument for it.
    with _environment:
        before = os.environ.get(ENVIRONMENT)
        os.environ[ENVIRONMENT] = host
        try:
            yield
        finally:
            if before is None:
                del os.environ[ENVIRONMENT]
            else:
                os.environ[ENVIRONMENT] = before


def make_client(host: str) -> Client:
    """Make an official client of the gateway at ``host``."""
    from google.auth import credentials
    from google.cloud.spanner_v1 import Client

    untyped: Any = credentials
    with _emulator_host(host):
        return Client(project=PROJECT, credentials=untyped.AnonymousCredentials())


class Databases:
    """Makes databases with fresh names, in as many instances as they need; ``timeout`` in seconds."""

    def __init__(self, client: Client, timeout: float) -> None:
        # The client's own methods carry no types.
        self._client: Any = client
        self._timeout = timeout
        self._made = 0
        self._making = threading.Lock()
        self._name = f"spanner-queues-{uuid.uuid4().hex[:8]}"

    def make(self, postgresql: bool, statements: Sequence[str]) -> str:
        """Make a database and return its path."""
        from google.cloud.spanner_admin_database_v1 import DatabaseDialect

        dialects = DatabaseDialect
        database = self._instance().database(
            f"db-{uuid.uuid4().hex[:20]}",
            ddl_statements=() if postgresql else tuple(statements),
            database_dialect=dialects.POSTGRESQL if postgresql else dialects.GOOGLE_STANDARD_SQL,
        )
        database.create().result(self._timeout)
        if postgresql and statements:
            # A PostgreSQL-dialect database is created empty.
            database.update_ddl(list(statements)).result(self._timeout)
        return str(database.name)

    def _instance(self) -> Any:
        configuration = f"projects/{PROJECT}/instanceConfigs/emulator-config"
        with self._making:
            number, used = divmod(self._made, _DATABASES_PER_INSTANCE)
            name = f"{self._name}-{number}"
            instance = self._client.instance(name, configuration_name=configuration, node_count=1)
            if used == 0:
                instance.create().result(self._timeout)
            self._made += 1
        return instance


def make_engine(host: str, database: str, **options: Any) -> Engine:
    """Make an SQLAlchemy engine over an existing database."""
    from sqlalchemy import create_engine

    connect_args = {"client": make_client(host), **options.pop("connect_args", {})}
    return create_engine(f"spanner+spanner:///{database}", connect_args=connect_args, **options)
