"""What a client does to the queue, in one dialect, by the requests of the official client.

Each request is made once and by hand, not through ``run_in_transaction``: a test that says how a commit fails
must know how often it was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from google.api_core.exceptions import GoogleAPICallError
from google.cloud.spanner_v1 import (
    CommitRequest,
    ExecuteSqlRequest,
    Mutation,
    TransactionOptions,
    TransactionSelector,
    Type,
    TypeCode,
)
from google.cloud.spanner_v1.database_sessions_manager import TransactionType
from google.protobuf.struct_pb2 import ListValue, Struct

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.words import Words
from tests.emulator_model.facts import Action, Remove, Send

_READ_WRITE = TransactionOptions(read_write=TransactionOptions.ReadWrite())
_STRINGS = Type(code=TypeCode.ARRAY, array_element_type=Type(code=TypeCode.STRING))
_ATTEMPTS = 5
_INTEGER = Type(code=TypeCode.INT64)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a transaction ends; a commit may fail with ``code``, before or after it was applied."""

    verb: Literal["commit", "rollback"] = "commit"
    code: str = ""
    after: bool = False


COMMIT = Ending()


class Client:
    """The queue ``q`` of a database."""

    def __init__(self, emulator: Emulator, path: str, words: Words) -> None:
        self.emulator = emulator
        database = emulator.client.instance(path.split("/")[3]).database(path.rsplit("/", 1)[1])
        self.words = words
        self.api: Any = database.spanner_api
        self._session = database.sessions_manager.get_session(TransactionType.READ_ONLY).name

    def begin(self) -> bytes:
        """Begin a transaction and return its id."""
        transaction = self.api.begin_transaction(session=self._session, options=_READ_WRITE, retry=None)
        return bytes(transaction.id)

    def execute(self, transaction: bytes, actions: Sequence[Action], *, forgiving: bool = False) -> str:
        """Execute DML and return OK or the first error, unless a ``forgiving`` transaction goes on."""
        for number, action in enumerate(actions, 1):
            code = self._dml(transaction, self._statement(action), number)
            if code not in ("OK", "OUT_OF_RANGE" if forgiving else "OK"):
                return code
        return "OK"

    def end(self, transaction: bytes, ending: Ending) -> str:
        """Commit or roll back; a commit that hears UNAVAILABLE is repeated, as the official client does."""
        if ending.verb == "rollback":
            return _code(lambda: self._roll_back(transaction))
        request = CommitRequest(session=self._session, transaction_id=transaction)
        code = self._commit(request, ending)
        return self._commit(request, COMMIT) if code == "UNAVAILABLE" else code

    def transact(self, actions: Sequence[Action], ending: Ending, *, forgiving: bool = False) -> str:
        """Run a transaction of DML, again when it is aborted; return the code with which it ended."""
        code = self._attempt(actions, ending, forgiving)
        return self._again(code, lambda: self._attempt(actions, COMMIT, forgiving))

    def mutate(self, actions: Sequence[Action], now: float, ending: Ending, *, insert: bool = False) -> str:
        """Commit mutations: Ack, and Send or ``insert``; return the code with which it ended."""
        mutations = [self._mutation(action, now, insert=insert) for action in actions]
        request = CommitRequest(
            session=self._session, single_use_transaction=_READ_WRITE, mutations=mutations
        )
        return self._again(self._commit(request, ending), lambda: self._commit(request, COMMIT))

    def clear(self) -> None:
        """Delete all messages."""
        keys = [key for key, _, _ in self.rows()]
        assert self.transact([Remove(key) for key in keys], COMMIT) == "OK"

    def rows(self) -> list[tuple[int, str, float]]:
        """Select all messages: key, payload, deliver time."""
        rows = self._execute(f"SELECT Id, Payload, {self.words.deliver_time} FROM q").rows
        return [(int(key), payload, _seconds(due)) for key, payload, due in rows]

    def receive(self, low: int, size: int, seconds: int) -> Any:
        """Open a stream of messages with keys from ``low`` on; 0 asks without a filter."""
        request = self._request(f"SELECT * FROM {self.words.receive(size=size, duration=f'{seconds}s')}")
        if low:
            request.sql += f" WHERE Id >= {self.words.parameter(1)}"
            request.params = Struct()
            request.params["p1"] = str(low)
            request.param_types["p1"] = _INTEGER
        return self.api.transport.execute_streaming_sql(request)

    def renew(self, tokens: Sequence[str]) -> dict[str, tuple[str | None, float]]:
        """Renew leases; return the new token (or None) and the end of the lease by the old token."""
        params = Struct()
        params["p1"] = list(tokens)
        sql = f"SELECT * FROM {self.words.renew(self.words.parameter(1))}"
        rows = self._execute(sql, params=params, param_types={"p1": _STRINGS}).rows
        answers = {old: (new, _seconds(ends) if ends else 0.0) for old, new, ends in rows}
        assert len(answers) == len(rows), "an old token comes twice"
        return answers

    def _attempt(self, actions: Sequence[Action], ending: Ending, forgiving: bool) -> str:
        transaction = self.begin()
        code = self.execute(transaction, actions, forgiving=forgiving)
        if code == "OK":
            return self.end(transaction, ending)
        self.end(transaction, Ending("rollback"))
        return code

    @staticmethod
    def _again(code: str, attempt: Callable[[], str]) -> str:
        for _ in range(_ATTEMPTS):
            if code != "ABORTED":
                break
            code = attempt()
        return code

    def _roll_back(self, transaction: bytes) -> None:
        self.api.rollback(session=self._session, transaction_id=transaction, retry=None)

    def _commit(self, request: CommitRequest, ending: Ending) -> str:
        if ending.code:
            self.emulator.inject("Commit", code=ending.code, after_apply=ending.after)
        return _code(lambda: self.api.commit(request, retry=None))

    def _dml(self, transaction: bytes, sql: str, number: int) -> str:
        selector = TransactionSelector(id=transaction)
        return _code(lambda: self._execute(sql, transaction=selector, seqno=number))

    def _execute(self, sql: str, **more: Any) -> Any:
        return self.api.execute_sql(self._request(sql, **more), retry=None)

    def _request(self, sql: str, **more: Any) -> ExecuteSqlRequest:
        return ExecuteSqlRequest(session=self._session, sql=sql, **more)

    def _statement(self, action: Action) -> str:
        if isinstance(action, Remove):
            guard = " ASSERT_ROWS_MODIFIED 1" if action.missing else ""
            return f"DELETE FROM q WHERE Id = {action.key}{guard}"
        columns, values = "Id, Payload", f"{action.key}, '{action.payload}'"
        if action.delay is not None:
            columns += f", {self.words.deliver_time}"
            values += f", {self.words.later(action.delay)}"
        return f"INSERT INTO q ({columns}) VALUES ({values})"

    def _mutation(self, action: Action, now: float, *, insert: bool) -> Mutation:
        if isinstance(action, Remove):
            key = ListValue()
            key.append(str(action.key))
            return Mutation(ack=Mutation.Ack(queue="q", key=key, ignore_not_found=not action.missing))
        due = None if action.delay is None else datetime.fromtimestamp(now + action.delay, UTC)
        return self._insert(action, due) if insert else self._send(action, due)

    def _send(self, action: Send, due: datetime | None) -> Mutation:
        key = ListValue()
        key.append(str(action.key))
        send = Mutation.Send(queue="q", key=key, payload=action.payload, deliver_time=due)
        return Mutation(send=send)

    def _insert(self, action: Send, due: datetime | None) -> Mutation:
        columns = ["Id", self.words.column("Payload")]
        values = [str(action.key), action.payload]
        if due is not None:
            columns.append(self.words.deliver_time)
            values.append(due.isoformat().replace("+00:00", "Z"))
        return Mutation(insert=Mutation.Write(table="q", columns=columns, values=[values]))


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()


def _code(request: Callable[[], object]) -> str:
    try:
        request()
    except GoogleAPICallError as error:
        return str(error.grpc_status_code.name)
    return "OK"
