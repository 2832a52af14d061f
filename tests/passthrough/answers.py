"""What comes back from a request, in a form that can be compared field by field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import grpc
from google.cloud import spanner_admin_database_v1 as databases
from google.cloud import spanner_admin_instance_v1 as instances
from google.cloud.spanner_v1 import types as spanner
from google.longrunning import operations_pb2 as operations
from google.longrunning.operations_pb2 import Operation
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToDict
from google.rpc import error_details_pb2, status_pb2

_DATA: Final = "/google.spanner.v1.Spanner/"
_DATABASES: Final = "/google.spanner.admin.database.v1.DatabaseAdmin/"
_INSTANCES: Final = "/google.spanner.admin.instance.v1.InstanceAdmin/"
_OPERATIONS: Final = "/google.longrunning.Operations/"

METHODS: Final[dict[str, tuple[str, Any, Any]]] = {
    "CreateSession": (_DATA, spanner.CreateSessionRequest, spanner.Session),
    "BatchCreateSessions": (_DATA, spanner.BatchCreateSessionsRequest, spanner.BatchCreateSessionsResponse),
    "GetSession": (_DATA, spanner.GetSessionRequest, spanner.Session),
    "ListSessions": (_DATA, spanner.ListSessionsRequest, spanner.ListSessionsResponse),
    "DeleteSession": (_DATA, spanner.DeleteSessionRequest, Empty),
    "ExecuteSql": (_DATA, spanner.ExecuteSqlRequest, spanner.ResultSet),
    "ExecuteStreamingSql": (_DATA, spanner.ExecuteSqlRequest, spanner.PartialResultSet),
    "ExecuteBatchDml": (_DATA, spanner.ExecuteBatchDmlRequest, spanner.ExecuteBatchDmlResponse),
    "Read": (_DATA, spanner.ReadRequest, spanner.ResultSet),
    "StreamingRead": (_DATA, spanner.ReadRequest, spanner.PartialResultSet),
    "BeginTransaction": (_DATA, spanner.BeginTransactionRequest, spanner.Transaction),
    "Commit": (_DATA, spanner.CommitRequest, spanner.CommitResponse),
    "Rollback": (_DATA, spanner.RollbackRequest, Empty),
    "PartitionQuery": (_DATA, spanner.PartitionQueryRequest, spanner.PartitionResponse),
    "PartitionRead": (_DATA, spanner.PartitionReadRequest, spanner.PartitionResponse),
    "ListDatabases": (_DATABASES, databases.ListDatabasesRequest, databases.ListDatabasesResponse),
    "CreateDatabase": (_DATABASES, databases.CreateDatabaseRequest, Operation),
    "GetDatabase": (_DATABASES, databases.GetDatabaseRequest, databases.Database),
    "DropDatabase": (_DATABASES, databases.DropDatabaseRequest, Empty),
    "GetDatabaseDdl": (_DATABASES, databases.GetDatabaseDdlRequest, databases.GetDatabaseDdlResponse),
    "UpdateDatabaseDdl": (_DATABASES, databases.UpdateDatabaseDdlRequest, Operation),
    "GetInstance": (_INSTANCES, instances.GetInstanceRequest, instances.Instance),
    "CreateInstance": (_INSTANCES, instances.CreateInstanceRequest, Operation),
    "GetOperation": (_OPERATIONS, operations.GetOperationRequest, Operation),
    "ListOperations": (_OPERATIONS, operations.ListOperationsRequest, operations.ListOperationsResponse),
}
STREAMING: Final = ("ExecuteStreamingSql", "StreamingRead")
IN_SESSION: Final = (
    *(spanner.ExecuteSqlRequest, spanner.ExecuteBatchDmlRequest, spanner.ReadRequest),
    *(spanner.BeginTransactionRequest, spanner.CommitRequest, spanner.RollbackRequest),
    *(spanner.PartitionQueryRequest, spanner.PartitionReadRequest),
)

_STATUS_DETAILS: Final = "grpc-status-details-bin"
_LONG: Final = 5_000
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)")
_NUMBERED: Final = re.compile(r"\b_auto\d+\b")
_TIMES: Final = ("Timestamp", "Timestamps", "Time")
_IDS: Final = ("id", "transactionId", "precommitToken", "partitionToken", "elapsed_time", "cpu_time")


@dataclass(frozen=True)
class Answer:
    """All that a client can see of an answer: messages, status, error details, and the metadata around it."""

    messages: list[Any] = field(repr=False)
    code: str
    text: str
    details: tuple[Any, ...]
    initial: tuple[str, ...]
    trailing: tuple[str, ...]

    @property
    def message(self) -> Any:
        """The only message of an answer that is no error."""
        assert self.code == "OK", self
        (message,) = self.messages
        return message

    @property
    def began(self) -> dict[str, bytes]:
        """What selects the transaction that the first message tells of."""
        first = self.messages[0]
        return {"id": first.id if hasattr(first, "id") else first.metadata.transaction.id}

    def plain(self, **names: str) -> dict[str, Any]:
        """Return everything as plain values; what differs between any two runs reads ``<time>`` or ``<id>``.

        ``names`` are texts to write in the place of others, such as a database's path.
        """
        whole = vars(self) | {
            "messages": [MessageToDict(getattr(message, "_pb", message)) for message in self.messages]
        }
        return {name: _plain(value, names, name) for name, value in whole.items()}


def ask(channel: grpc.Channel, method: str, request: Any, **options: Any) -> Answer:
    """Send a request past the client's own logic, and note all that comes back; bytes go as they are."""
    service, _, expected = METHODS.get(method, ("", None, Empty))
    if method in STREAMING:
        call = channel.unary_stream(service + method, _encode, None)(request, **options)
        return _answer_of(call, call, expected)
    call = channel.unary_unary(service + method, _encode, None).future(request, **options)
    return _answer_of(call, (call.result() for _ in range(1)), expected)


def _encode(request: Any) -> bytes:
    plain = getattr(request, "_pb", request)
    return plain if isinstance(plain, bytes) else plain.SerializeToString()


def _answer_of(call: Any, messages: Iterable[bytes], expected: Any) -> Answer:
    decode = getattr(expected, "deserialize", None) or expected.FromString
    received: list[Any] = []
    with suppress(grpc.RpcError):
        for message in messages:
            received.append(decode(message))
    trailing = dict(call.trailing_metadata())
    return Answer(
        messages=received,
        code=call.code().name,
        text=call.details() or "",
        details=tuple(_details(trailing.get(_STATUS_DETAILS))),
        initial=tuple(sorted(dict(call.initial_metadata()))),
        trailing=tuple(sorted(trailing)),
    )


def _details(packed: bytes | None) -> Iterator[Any]:
    if packed is None:
        return
    status = status_pb2.Status.FromString(packed)
    yield status.code, status.message
    for detail in status.details:
        name = detail.type_url.rsplit(".", 1)[-1]
        message = getattr(error_details_pb2, name)()
        assert detail.Unpack(message)
        yield MessageToDict(message)


def _plain(value: Any, names: dict[str, str], key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _plain(item, names, name) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, names, key) for item in value]
    if not isinstance(value, str):
        return value
    if key in _IDS:
        return "<id>"
    if key.endswith(_TIMES):
        return "<time>"
    if key in ("text", "details"):
        value = _MOMENT.sub("<time>", value)
    value = _NUMBERED.sub("<operation>", value)
    for written, original in names.items():
        value = value.replace(original, f"<{written}>")
    return value if len(value) < _LONG else f"<{len(value)} characters: {sha256(value.encode()).hexdigest()}>"
