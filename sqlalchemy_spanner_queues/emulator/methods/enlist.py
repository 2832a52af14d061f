"""Carry a request into its read-write transaction: its turn, its upstream session, its ids."""

from __future__ import annotations

from types import TracebackType

import grpc

from .. import _protos as pb
from ..database import Database
from ..transport import RpcError
from ..writing.transactions import ID_PREFIX, WriteTransaction


async def begun(database: Database, session: str, options: pb.TransactionOptions) -> WriteTransaction | None:
    """Begin a read-write transaction of a client's session when its turn has come; None without a session."""
    if not await database.sessions.exists(session):
        return None
    previous = options.read_write.multiplexed_session_previous_transaction_id
    alone = database.sessions.has_one_transaction(session)
    database.transactions.replace(session, previous, one_at_a_time=alone)
    return await database.transactions.start(session)


class Enlisted:
    """The part of a transaction that one request plays; an async context manager.

    Inside of it the selector and ``session`` are the upstream ones. ``transaction`` is None when the request
    is in no read-write transaction, or in none that is known, and passes untouched.
    """

    def __init__(self, database: Database, session: str, selector: pb.TransactionSelector) -> None:
        self._database = database
        self._transactions = database.transactions
        self._selector = selector
        self._begins = selector.HasField("begin") and selector.begin.HasField("read_write")
        self._told = False
        self.session = session
        self.transaction: WriteTransaction | None = None

    async def __aenter__(self) -> Enlisted:
        if self._begins:
            self.transaction = await begun(self._database, self.session, self._selector.begin)
        elif self._selector.id.startswith(ID_PREFIX):
            self.transaction = self._transactions.find(self._selector.id, self.session)
            if self.transaction is not None:
                self._selector.id = self.transaction.upstream_id
                if self.transaction.partitioned:
                    await self._transactions.take_turn(self.transaction)
        if self.transaction is not None:
            self.transaction.running += 1
            self.session = self.transaction.session
        return self

    @property
    def learns_id(self) -> bool:
        """Whether the answer brings the id of a transaction that begins with this request."""
        return self._begins and not self._told and self.transaction is not None

    def sequence(self, number: int) -> int:
        """Return the number that a statement of the client has upstream."""
        return number if self.transaction is None else self.transaction.upstream_sequence(number)

    def begun(self, metadata: pb.ResultSetMetadata) -> None:
        """Note the upstream id from a request of the gateway's own, which came before the client's."""
        if self.transaction is not None and metadata.transaction.id:
            self.transaction.upstream_id = metadata.transaction.id
            self._selector.id = metadata.transaction.id

    def learn(self, metadata: pb.ResultSetMetadata) -> None:
        """Note the upstream id of the transaction, and put the client's in its place."""
        if self.transaction is None:
            return
        if metadata.transaction.id:
            self.transaction.upstream_id = metadata.transaction.id
        if self.transaction.upstream_id:
            metadata.transaction.id = self.transaction.id
            self._told = True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        transaction = self.transaction
        if transaction is None:
            return
        transaction.running -= 1
        transaction.failed = error is not None
        self._transactions.touch(transaction)
        if isinstance(error, RpcError) and error.code is grpc.StatusCode.ABORTED:
            self._transactions.end(transaction, "aborted", clean=False)
        elif transaction.partitioned and error is None:
            self._transactions.rest(transaction)
        elif transaction.partitioned:
            # It would keep upstream's lock.
            self._transactions.end(transaction, "ended", clean=False)
        elif self.learns_id:
            # The client never hears of the transaction.
            self._transactions.end(transaction, "ended", clean=False)
