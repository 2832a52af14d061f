from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

_M = TypeVar("_M")

class _Repeated(Generic[_M]):
    def __iter__(self) -> Iterator[_M]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> _M: ...
    def __delitem__(self, index: slice, /) -> None: ...
    def add(self) -> _M: ...
    def append(self, value: _M, /) -> None: ...
    def extend(self, values: Iterable[_M], /) -> None: ...

class _TypeMap:
    def __getitem__(self, key: str, /) -> Type: ...
    def __iter__(self) -> Iterator[str]: ...

class Type(Message):
    code: int
    type_annotation: int
    proto_type_fqn: str
    @property
    def array_element_type(self) -> Type: ...
    @property
    def struct_type(self) -> StructType: ...

class StructType(Message):
    class Field(Message):
        name: str
        @property
        def type_(self) -> Type: ...

    @property
    def fields(self) -> _Repeated[Field]: ...

class TransactionOptions(Message):
    class ReadOnly(Message):
        strong: bool
        return_read_timestamp: bool

    class ReadWrite(Message):
        multiplexed_session_previous_transaction_id: bytes

    class PartitionedDml(Message): ...

    @property
    def read_only(self) -> ReadOnly: ...
    @property
    def read_write(self) -> ReadWrite: ...
    @property
    def partitioned_dml(self) -> PartitionedDml: ...

class TransactionSelector(Message):
    id: bytes
    @property
    def single_use(self) -> TransactionOptions: ...
    @property
    def begin(self) -> TransactionOptions: ...

class Transaction(Message):
    id: bytes

class BeginTransactionRequest(Message):
    session: str
    @property
    def options(self) -> TransactionOptions: ...

class ExecuteSqlRequest(Message):
    session: str
    sql: str
    query_mode: int
    seqno: int
    resume_token: bytes
    @property
    def transaction(self) -> TransactionSelector: ...
    @property
    def params(self) -> Struct: ...
    @property
    def param_types(self) -> _TypeMap: ...

class ExecuteBatchDmlRequest(Message):
    class Statement(Message):
        sql: str
        @property
        def params(self) -> Struct: ...
        @property
        def param_types(self) -> _TypeMap: ...

    session: str
    seqno: int
    @property
    def transaction(self) -> TransactionSelector: ...
    @property
    def statements(self) -> _Repeated[Statement]: ...

class KeySet(Message):
    all: bool
    @property
    def keys(self) -> _Repeated[ListValue]: ...

class ReadRequest(Message):
    session: str
    table: str
    @property
    def transaction(self) -> TransactionSelector: ...
    @property
    def columns(self) -> _Repeated[str]: ...
    @property
    def key_set(self) -> KeySet: ...

class PartitionQueryRequest(Message):
    sql: str

class PartitionReadRequest(Message):
    table: str

class ResultSetMetadata(Message):
    @property
    def row_type(self) -> StructType: ...
    @property
    def transaction(self) -> Transaction: ...

class ResultSetStats(Message):
    row_count_exact: int

class ResultSet(Message):
    @property
    def stats(self) -> ResultSetStats: ...
    @property
    def metadata(self) -> ResultSetMetadata: ...
    @property
    def rows(self) -> _Repeated[ListValue]: ...

class PartialResultSet(Message):
    chunked_value: bool
    resume_token: bytes
    @property
    def stats(self) -> ResultSetStats: ...
    @property
    def metadata(self) -> ResultSetMetadata: ...
    @property
    def values(self) -> _Repeated[Value]: ...

class ExecuteBatchDmlResponse(Message):
    @property
    def result_sets(self) -> _Repeated[ResultSet]: ...
    @property
    def status(self) -> Status: ...

class Mutation(Message):
    class Write(Message):
        table: str
        @property
        def columns(self) -> _Repeated[str]: ...
        @property
        def values(self) -> _Repeated[ListValue]: ...

    class Delete(Message):
        table: str
        @property
        def key_set(self) -> KeySet: ...

    class Send(Message):
        queue: str
        @property
        def key(self) -> ListValue: ...
        @property
        def deliver_time(self) -> Timestamp: ...
        @property
        def payload(self) -> Value: ...

    class Ack(Message):
        queue: str
        ignore_not_found: bool
        @property
        def key(self) -> ListValue: ...

    @property
    def insert(self) -> Write: ...
    @property
    def update(self) -> Write: ...
    @property
    def insert_or_update(self) -> Write: ...
    @property
    def replace(self) -> Write: ...
    @property
    def delete(self) -> Delete: ...
    @property
    def send(self) -> Send: ...
    @property
    def ack(self) -> Ack: ...

class CommitRequest(Message):
    session: str
    transaction_id: bytes
    @property
    def single_use_transaction(self) -> TransactionOptions: ...
    @property
    def mutations(self) -> _Repeated[Mutation]: ...

class BatchWriteRequest(Message):
    class MutationGroup(Message):
        @property
        def mutations(self) -> _Repeated[Mutation]: ...

    session: str
    @property
    def mutation_groups(self) -> _Repeated[MutationGroup]: ...

class Status(Message):
    code: int
    message: str

class CommitResponse(Message):
    @property
    def commit_timestamp(self) -> Timestamp: ...

class BatchWriteResponse(Message):
    @property
    def indexes(self) -> _Repeated[int]: ...
    @property
    def status(self) -> Status: ...
    @property
    def commit_timestamp(self) -> Timestamp: ...

class RollbackRequest(Message):
    session: str
    transaction_id: bytes

class Session(Message):
    name: str
    multiplexed: bool
    @property
    def labels(self) -> dict[str, str]: ...

class CreateSessionRequest(Message):
    database: str
    @property
    def session(self) -> Session: ...

class GetSessionRequest(Message):
    name: str

class BatchCreateSessionsResponse(Message):
    @property
    def session(self) -> _Repeated[Session]: ...

class ListSessionsRequest(Message):
    database: str
    page_token: str

class ListSessionsResponse(Message):
    next_page_token: str
    @property
    def sessions(self) -> _Repeated[Session]: ...

class DeleteSessionRequest(Message):
    name: str

class CreateDatabaseRequest(Message):
    parent: str
    create_statement: str
    database_dialect: int
    @property
    def extra_statements(self) -> _Repeated[str]: ...

class DropDatabaseRequest(Message):
    database: str

class GetDatabaseDdlRequest(Message):
    database: str

class GetDatabaseDdlResponse(Message):
    @property
    def statements(self) -> _Repeated[str]: ...

class UpdateDatabaseDdlRequest(Message):
    database: str
    proto_descriptors: bytes
    @property
    def statements(self) -> _Repeated[str]: ...

class GetOperationRequest(Message):
    name: str

class RetryInfo(Message):
    @property
    def retry_delay(self) -> Duration: ...

class Instance(Message):
    config: str
    display_name: str
    node_count: int

class CreateInstanceRequest(Message):
    parent: str
    instance_id: str
    @property
    def instance(self) -> Instance: ...

class DeleteInstanceRequest(Message):
    name: str

class Operation(Message):
    name: str
    done: bool
    @property
    def error(self) -> Status: ...
    @property
    def metadata(self) -> Any: ...
    @property
    def response(self) -> Any: ...

MutationList = _Repeated[Mutation]
