"""The messages of Spanner's API that the gateway reads and writes, as plain protobuf classes.

The client's own wrappers are several times slower to parse; the stub beside this file gives the types.
"""

from __future__ import annotations

from importlib import import_module

from google.cloud import spanner_admin_database_v1, spanner_admin_instance_v1, spanner_v1
from google.protobuf import descriptor_pool, message, message_factory

_REGISTERED_BY = (
    *(spanner_v1, spanner_admin_database_v1, spanner_admin_instance_v1),
    # The only one of them without types.
    import_module("google.rpc.error_details_pb2"),
)


def _message(name: str) -> type[message.Message]:
    pool = descriptor_pool.Default()
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def _spanner(name: str) -> type[message.Message]:
    return _message(f"google.spanner.v1.{name}")


def _admin(name: str) -> type[message.Message]:
    return _message(f"google.spanner.admin.database.v1.{name}")


BatchWriteRequest = _spanner("BatchWriteRequest")
BatchWriteResponse = _spanner("BatchWriteResponse")
BeginTransactionRequest = _spanner("BeginTransactionRequest")
CommitRequest = _spanner("CommitRequest")
CommitResponse = _spanner("CommitResponse")
CreateSessionRequest = _spanner("CreateSessionRequest")
DeleteSessionRequest = _spanner("DeleteSessionRequest")
ExecuteBatchDmlRequest = _spanner("ExecuteBatchDmlRequest")
ExecuteBatchDmlResponse = _spanner("ExecuteBatchDmlResponse")
ExecuteSqlRequest = _spanner("ExecuteSqlRequest")
ListSessionsRequest = _spanner("ListSessionsRequest")
ListSessionsResponse = _spanner("ListSessionsResponse")
Mutation = _spanner("Mutation")
PartialResultSet = _spanner("PartialResultSet")
PartitionQueryRequest = _spanner("PartitionQueryRequest")
PartitionReadRequest = _spanner("PartitionReadRequest")
ReadRequest = _spanner("ReadRequest")
ResultSet = _spanner("ResultSet")
ResultSetMetadata = _spanner("ResultSetMetadata")
RollbackRequest = _spanner("RollbackRequest")
Session = _spanner("Session")
StructType = _spanner("StructType")
Transaction = _spanner("Transaction")
TransactionOptions = _spanner("TransactionOptions")
TransactionSelector = _spanner("TransactionSelector")
Type = _spanner("Type")

CreateDatabaseRequest = _admin("CreateDatabaseRequest")
DropDatabaseRequest = _admin("DropDatabaseRequest")
GetDatabaseDdlRequest = _admin("GetDatabaseDdlRequest")
GetDatabaseDdlResponse = _admin("GetDatabaseDdlResponse")
UpdateDatabaseDdlRequest = _admin("UpdateDatabaseDdlRequest")
CreateInstanceRequest = _message("google.spanner.admin.instance.v1.CreateInstanceRequest")
DeleteInstanceRequest = _message("google.spanner.admin.instance.v1.DeleteInstanceRequest")

Operation = _message("google.longrunning.Operation")
GetOperationRequest = _message("google.longrunning.GetOperationRequest")
RetryInfo = _message("google.rpc.RetryInfo")
Status = _message("google.rpc.Status")
GetSessionRequest = _spanner("GetSessionRequest")
BatchCreateSessionsResponse = _spanner("BatchCreateSessionsResponse")
