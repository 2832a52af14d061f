"""Own a gateway: start it in a process of its own, make databases in it, move its clock, inject faults."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import grpc

from sqlalchemy_spanner_queues.exc import EmulatorError

from ._grpc import CHANNEL_OPTIONS, CONTROL, blocking_method
from .clients import Databases, make_client, make_engine
from .gateway import GatewayProcess
from .upstream.find import choose_emulator

if TYPE_CHECKING:
    from google.cloud.spanner_v1 import Client
    from sqlalchemy import Engine

Dialect: TypeAlias = Literal["googlesql", "postgresql"]

_CONTROL_TIMEOUT_SECONDS: Final = 30.0
_NOT_RUNNING: Final = "the emulator is not running: use it in a with statement, or call start() first"


class Emulator:
    """A local Spanner with queues: the official emulator behind a gateway that adds them.

    Any client in any language reaches it with SPANNER_EMULATOR_HOST set to ``host``::

        with Emulator() as emulator:
            engine = emulator.create_engine()           # a fresh database
            emulator.advance(3600)                      # seconds; what is due within the hour is due now
            emulator.inject("Commit", code="UNKNOWN", after_apply=True)  # it lands, and nobody hears of it

    ``port`` 0 takes a free one; ``upstream`` is the ``host:port`` of a running official emulator, otherwise
    one is found and started (see ``find_emulator``), with ``docker`` always the Docker image;
    ``start_timeout`` is in seconds. With ``rest_port`` (0 takes a free one) the controls are served as JSON
    over HTTP as well, at ``admin_url``, for a shell or another language. Whatever ends the process that owns
    it, the gateway and the emulator end as well.

    Raises EmulatorNotFound when there is no official emulator, EmulatorError when it does not start.

    https://docs.cloud.google.com/spanner/docs/emulator
    """

    def __init__(
        self,
        port: int = 0,
        upstream: str | None = None,
        start_timeout: float = 30.0,
        *,
        rest_port: int | None = None,
        docker: bool = False,
    ) -> None:
        if upstream and docker:
            raise EmulatorError("upstream names a running emulator and docker starts one: choose one of them")
        self._port = port
        self._upstream = upstream
        self._start_timeout = start_timeout
        self._rest_port = rest_port
        self._docker = docker
        self._gateway: GatewayProcess | None = None
        self._channel: grpc.Channel | None = None
        self._client: Client | None = None
        self._databases: Databases | None = None
        self._lock = threading.Lock()

    @property
    def host(self) -> str:
        """The address for SPANNER_EMULATOR_HOST, ``localhost:PORT``.

        Raises EmulatorError when it is not started.
        """
        return self._running().host

    @property
    def admin_url(self) -> str:
        """Where the controls are served over HTTP, ``http://localhost:PORT``.

        ::

            with Emulator(rest_port=0) as emulator:
                urllib.request.urlopen(f"{emulator.admin_url}/leases")

        Raises EmulatorError when it is not started, or was made without ``rest_port``.
        """
        if self._rest_port is None:
            raise EmulatorError("the emulator serves no HTTP: make it with rest_port=0, or another port")
        return self._running().admin_url

    @property
    def upstream(self) -> str:
        """The address of the official emulator behind the gateway, ``localhost:PORT``.

        A client that goes there sees tables in the place of queues.

        Raises EmulatorError when it is not started.
        """
        return str(self._control("Ping")["upstream"])

    @property
    def pid(self) -> int:
        """The process id of the gateway.

        Raises EmulatorError when it is not started.
        """
        return self._running().pid

    def __enter__(self) -> Emulator:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the official emulator and the gateway, and wait until they answer.

        Raises EmulatorNotFound when there is no official emulator, EmulatorError when it does not start.
        """
        if self._gateway is not None:
            return
        choose_emulator(self._upstream, docker=self._docker)
        self._gateway = GatewayProcess(self._flags(), self._start_timeout)
        self._channel = grpc.insecure_channel(self._gateway.host, options=CHANNEL_OPTIONS)

    def stop(self) -> None:
        """Stop the gateway and the emulator, and wait until both are gone."""
        if self._channel is not None:
            self._channel.close()
        gateway, self._gateway = self._gateway, None
        self._channel = self._client = self._databases = None
        if gateway is not None:
            gateway.stop()

    def create_database(self, dialect: Dialect = "googlesql", statements: Sequence[str] = ()) -> str:
        """Create a fresh database and return its path, ``projects/P/instances/I/databases/D``.

        ``statements`` are DDL, queues included; a PostgreSQL-dialect database is made empty first, as Spanner
        wants it. ::

            path = emulator.create_database(statements=["CREATE QUEUE q (...) PRIMARY KEY (...)"])
        """
        if dialect not in ("googlesql", "postgresql"):
            raise EmulatorError(f"unknown dialect {dialect!r}: use 'googlesql' or 'postgresql'")
        client = self.client
        with self._lock:
            self._databases = databases = self._databases or Databases(client, self._start_timeout)
        return databases.make(dialect == "postgresql", statements)

    def create_engine(self, dialect: Dialect = "googlesql", **options: Any) -> Engine:
        """Create a fresh database and return an SQLAlchemy engine over it; options go to ``create_engine``.

        Raises EmulatorError for ``dialect="postgresql"``: such a database is reached through PGAdapter.
        """
        if dialect == "postgresql":
            raise EmulatorError(
                "a PostgreSQL-dialect database is reached through PGAdapter: make one with"
                " create_database(dialect='postgresql') and connect with postgresql+psycopg://"
            )
        return make_engine(self.host, self.create_database(dialect), **options)

    @property
    def client(self) -> Client:
        """An official client of this emulator."""
        with self._lock:
            if self._client is None:
                self._client = make_client(self.host)
            return self._client

    def advance(self, seconds: float) -> None:
        """Move the delivery clock forward: deliver times, leases, back-off and max_duration follow it."""
        self._control("Advance", seconds=seconds)

    def inject(
        self,
        method: str,
        code: str | None = "UNAVAILABLE",
        times: int = 1,
        after_apply: bool = False,
        delay: float = 0.0,
        drop_after_rows: int | None = None,
        match: str | None = None,
        resume_tokens: bool = True,
        split_values: int | None = None,
    ) -> None:
        """Make the next ``times`` requests of a method fail, slow down, or answer in an unusual way.

        ``method`` is any of Spanner's, by its short name, such as ``Commit`` or ``ExecuteStreamingSql``;
        ``code`` a gRPC status code, None only delays or disturbs. With ``after_apply`` the request takes
        effect and its client does not hear of it, or not before the ``delay`` (seconds) is over; otherwise
        the delay comes first. ``match`` must be part of the SQL text, or of the name of a table or queue
        that a read or mutation names. ::

            emulator.inject("Commit", code="UNKNOWN", after_apply=True, match="Orders")

        The official Python client itself repeats a commit that ends in UNAVAILABLE; use UNKNOWN or
        DEADLINE_EXCEEDED for an outcome that stays unknown.

        Any stream of rows (ExecuteStreamingSql, StreamingRead) can be disturbed: ``drop_after_rows`` breaks
        it with the code after so many rows; ``resume_tokens=False`` withholds the tokens with which a client
        goes on after a break; ``split_values`` cuts strings and lists, inside of arrays too, into chunks of
        so many characters, as Spanner does with large values. ::

            emulator.inject("ExecuteStreamingSql", drop_after_rows=3, match="RECEIVE_")
            emulator.inject("ExecuteStreamingSql", code=None, split_values=10, resume_tokens=False, times=100)

        Raises EmulatorError for a method or code that there is not, and for what makes no sense.
        """
        self._control(
            "Inject",
            method=method,
            code=code,
            times=times,
            after_apply=after_apply,
            delay=delay,
            drop_after_rows=drop_after_rows,
            match=match,
            resume_tokens=resume_tokens,
            split_values=split_values,
        )

    def leases(self, database: str | None = None) -> list[dict[str, Any]]:
        """Return what is leased right now and by whom, of one database (its path) or of all.

        Each is a dict with ``database``, ``queue``, ``key`` (a list, as Spanner sends values), ``token``,
        ``holder`` (the client's connection, such as ``ipv4:127.0.0.1:54321``), ``deliveries`` (this one
        included) and ``expires_in`` (seconds of the delivery clock). A message that was acknowledged is
        listed until its lease runs out. ::

            assert [lease["key"] for lease in emulator.leases()] == [["17"]]
        """
        return list(self._control("Leases", database=database))

    def requests(self, reset: bool = False) -> dict[str, int]:
        """Return how many requests of each method clients have sent; ``reset`` starts to count anew.

        ::

            emulator.requests(reset=True)
            send_two_messages()
            assert emulator.requests()["Commit"] == 1
        """
        return dict(self._control("Requests", reset=reset))

    def reset(self) -> None:
        """Forget faults and leases, and return to real time.

        What is in the databases stays, and so do the streams that are open: they receive again what was
        leased. The requests are counted on.
        """
        self._control("Reset")

    def _control(self, control: str, /, **request: object) -> Any:
        call = blocking_method(self._running_channel(), CONTROL + control)
        try:
            return json.loads(call(json.dumps(request).encode(), timeout=_CONTROL_TIMEOUT_SECONDS))
        except grpc.RpcError as error:
            raise EmulatorError(f"the emulator refused {control}: {error.details()}") from error

    def _running(self) -> GatewayProcess:
        if self._gateway is None:
            raise EmulatorError(_NOT_RUNNING)
        return self._gateway

    def _running_channel(self) -> grpc.Channel:
        if self._channel is None:
            raise EmulatorError(_NOT_RUNNING)
        return self._channel

    def _flags(self) -> list[str]:
        flags = ["--port", str(self._port)]
        if self._upstream:
            flags += ["--upstream", self._upstream]
        if self._docker:
            flags += ["--docker"]
        if self._rest_port is not None:
            flags += ["--rest-port", str(self._rest_port)]
        return flags
