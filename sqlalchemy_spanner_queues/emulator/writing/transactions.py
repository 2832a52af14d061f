"""Read-write transactions: each has an upstream session of its own, and they take turns.

Clients see transaction ids of the gateway, never the upstream ones, so that any number of transactions may
live in one client session, multiplexed or not.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

import grpc

from .. import _protos as pb
from ..errors import aborted, in_use, not_found
from ..transport import RpcError
from ..upstream.api import OWN_SESSION, SPANNER, UpstreamApi
from .turns import FAILED_IDLE_SECONDS, IDLE_SECONDS, Holder, Turns

ID_PREFIX: Final = b"spanner-queues/"
_REMEMBERED_OUTCOMES: Final = 4096
_RESTING_AT_MOST: Final = 16
_WRITER: Final = f"{OWN_SESSION}writer"
_IS_OVER: Final = "Cannot read or query using a transaction after it has been committed or rolledback."

_OVER: Final = (
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.UNAVAILABLE,
)

Outcome = Literal["aborted", "rolled back", "ended"] | bytes | RpcError
"""How a transaction ended; bytes and errors are the answer to its commit."""


@dataclass(slots=True, eq=False)
class WriteTransaction:
    """A transaction that writes.

    ``sent`` names the queues that it may have sent to; ``held`` are the sequence numbers of statements whose
    assertion was found to hold, ``extra`` how many more statements than one some became upstream; ``failed``
    tells that its last request did.
    """

    client_session: str
    partitioned: bool = False
    id: bytes = field(default_factory=lambda: ID_PREFIX + uuid.uuid4().hex.encode())
    session: str = ""
    upstream_id: bytes = b""
    running: int = 0
    last_active: float = 0.0
    since: float = 0.0
    sent: set[str] = field(default_factory=lambda: set[str]())
    held: set[int] = field(default_factory=lambda: set[int]())
    extra: dict[int, int] = field(default_factory=lambda: dict[int, int]())
    failed: bool = False
    ending: asyncio.Task[bytes] | None = None

    @property
    def idle_seconds(self) -> float:
        """How long it may be silent while others wait."""
        # A client that gives up after an error often does not say so.
        return FAILED_IDLE_SECONDS if self.failed else IDLE_SECONDS

    def upstream_sequence(self, number: int) -> int:
        """Return the number that a statement has upstream."""
        return number + sum(more for other, more in self.extra.items() if other < number)


class Transactions:
    """The read-write transactions of one database."""

    def __init__(self, database: str, api: UpstreamApi) -> None:
        self._database = database
        self._api = api
        self._turns = Turns(self._evict)
        self._open: dict[bytes, WriteTransaction] = {}
        self._outcomes: OrderedDict[bytes, Outcome] = OrderedDict()
        self._sessions: set[str] = set()
        self._idle_sessions: list[str] = []
        self._is_alone = False
        self._resting: deque[WriteTransaction] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, client_session: str, *, partitioned: bool = False) -> WriteTransaction:
        """Make a transaction; it waits for its turn unless it is partitioned DML, which waits to execute."""
        transaction = WriteTransaction(client_session, partitioned)
        if not partitioned:
            await self.take_turn(transaction)
        try:
            transaction.session = await self._take_session()
        except BaseException:
            self._turns.release(transaction)
            raise
        self._open[transaction.id] = transaction
        self.touch(transaction)
        return transaction

    @asynccontextmanager
    async def exclusive(self) -> AsyncGenerator[None]:
        """Wait for the turn and keep it, for work that is no transaction but tolerates none beside it."""
        work = WriteTransaction("", running=1)
        await self.take_turn(work)
        try:
            yield
        finally:
            self._turns.release(work)

    async def take_turn(self, transaction: WriteTransaction) -> None:
        """Wait until no other transaction writes."""
        await self._turns.acquire(transaction)
        transaction.since = asyncio.get_running_loop().time()
        self.touch(transaction)

    def find(self, transaction_id: bytes, client_session: str) -> WriteTransaction | None:
        """Find an open transaction of a session by the id that the client knows; None when nobody knows it.

        Raises RpcError: ABORTED when it lost its turn, FAILED_PRECONDITION when it has ended, NOT_FOUND in
        another session.
        """
        transaction = self._open.get(transaction_id)
        if transaction is not None:
            if transaction.client_session == client_session:
                return transaction
            raise not_found(f"Transaction not found: {transaction.upstream_id.decode(errors='replace')}")
        outcome = self._outcomes.get(transaction_id)
        if outcome == "aborted":
            raise aborted("Transaction was aborted: it was idle while others waited, or its client was gone.")
        if isinstance(outcome, RpcError):
            raise outcome
        if outcome is not None:
            raise in_use(_IS_OVER)
        return None

    def replace(self, client_session: str, previous: bytes, *, one_at_a_time: bool) -> None:
        """Give up what a new transaction of a session takes the place of.

        A client names the ``previous`` one when it runs an aborted transaction again; a session that has
        ``one_at_a_time`` gives up its last.
        """
        for transaction in list(self._open.values()):
            in_session = transaction.client_session == client_session and not transaction.partitioned
            if transaction.id == previous or (one_at_a_time and in_session):
                self.end(transaction, "aborted", clean=False)

    def rest(self, transaction: WriteTransaction) -> None:
        """Pass the turn on from partitioned DML, which nobody ends; the last ones stay known."""
        self._turns.release(transaction)
        if transaction not in self._resting:
            self._resting.append(transaction)
        if len(self._resting) > _RESTING_AT_MOST:
            self.end(self._resting.popleft(), "ended", clean=True)

    def open(self, transaction_id: bytes) -> WriteTransaction | None:
        """Return an open transaction, or None."""
        return self._open.get(transaction_id)

    def outcome(self, transaction_id: bytes) -> Outcome | None:
        """Return how a transaction ended, while that is remembered."""
        return self._outcomes.get(transaction_id)

    def touch(self, transaction: WriteTransaction) -> None:
        """Note that the client is alive."""
        transaction.last_active = asyncio.get_running_loop().time()

    def end(self, transaction: WriteTransaction, outcome: Outcome, *, clean: bool) -> None:
        """Finish a transaction; ``clean`` tells whether its session is free for the next one."""
        if self._open.pop(transaction.id, None) is None:
            return
        self._outcomes[transaction.id] = outcome
        while len(self._outcomes) > _REMEMBERED_OUTCOMES:
            self._outcomes.popitem(last=False)
        if clean:
            self._idle_sessions.append(transaction.session)
            self._turns.release(transaction)
        else:
            self._later(self._discard(transaction))

    def end_session(self, client_session: str) -> None:
        """Give up the transactions of a session that its client deletes."""
        for transaction in [open for open in self._open.values() if open.client_session == client_session]:
            self.end(transaction, "ended", clean=False)

    def close(self) -> None:
        """Give up everything: the database is gone."""
        for transaction in list(self._open.values()):
            self._open.pop(transaction.id)
            self._turns.release(transaction)
        self._idle_sessions.clear()

    def _later(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _take_session(self) -> str:
        if self._idle_sessions:
            return self._idle_sessions.pop()
        session = await self._api.create_session(self._database, _WRITER)
        self._sessions.add(session)
        return session

    async def _evict(self, holder: Holder) -> None:
        if isinstance(holder, WriteTransaction) and self._open.pop(holder.id, None) is not None:
            self._outcomes[holder.id] = "aborted"
            await self._discard(holder)

    async def _discard(self, transaction: WriteTransaction) -> None:
        try:
            if self._outcomes.get(transaction.id) == "aborted":
                await self._push_out_others()
            await self._roll_back(transaction)
        except RpcError as error:
            # The session is left alone then, never deleted: a transaction that is open in a deleted session
            # keeps the official emulator's lock for ever.
            if error.code not in _OVER:
                raise
        else:
            self._idle_sessions.append(transaction.session)
        finally:
            self._turns.release(transaction)

    async def _push_out_others(self) -> None:
        """Roll back what a gateway left open that was killed: it would keep upstream's lock for ever."""
        if self._is_alone:
            return
        self._is_alone = True
        for session in await self._api.sessions(self._database, _WRITER):
            if session not in self._sessions:
                await self._roll_back(WriteTransaction("", session=session))

    async def _roll_back(self, transaction: WriteTransaction) -> None:
        request = pb.RollbackRequest()
        request.session = transaction.session
        # Without an id, a statement failed that was to begin the transaction: upstream has begun it all the
        # same. Only another one in the same session pushes it out, and so it is with partitioned DML.
        known = b"" if transaction.partitioned else transaction.upstream_id
        request.transaction_id = known or await self._begin_anew(transaction.session)
        await self._api.unary(SPANNER + "Rollback", request)

    async def _begin_anew(self, session: str) -> bytes:
        request = pb.BeginTransactionRequest()
        request.session = session
        request.options.read_write.SetInParent()
        return pb.Transaction.FromString(await self._api.unary(SPANNER + "BeginTransaction", request)).id
