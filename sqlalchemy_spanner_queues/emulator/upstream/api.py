"""The gateway's own calls to the official emulator: sessions, reads, schema.

Every answer that comes in chunks is put together here, so that the rest sees whole rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import ListValue, Value

from .. import _protos as pb
from ..text.dialect import DialectName
from ..transport import Channel

SPANNER: Final = "/google.spanner.v1.Spanner/"
DATABASE_ADMIN: Final = "/google.spanner.admin.database.v1.DatabaseAdmin/"
OPERATIONS: Final = "/google.longrunning.Operations/"
OWN_SESSION: Final = "spanner-queues-"
"""What the labels of the gateway's own sessions begin with; clients do not see them."""
INTERNAL_TIMEOUT_SECONDS: Final = 60.0
_DIALECT: Final = (
    "SELECT option_value FROM information_schema.database_options WHERE option_name = 'database_dialect'"
)


@dataclass(slots=True)
class Rows:
    """A whole answer: the metadata message, and the rows."""

    metadata: pb.ResultSetMetadata = field(default_factory=pb.ResultSetMetadata)
    rows: list[list[Value]] = field(default_factory=lambda: list[list[Value]]())


class UpstreamApi:
    """The official emulator; ``channel`` is the way to it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.channel = Channel(address)

    async def close(self) -> None:
        """Close the channel."""
        await self.channel.close()

    async def unary(self, method: str, request: Message) -> bytes:
        """Send a request of the gateway's own."""
        answer = await self.channel.unary(
            method, request.SerializeToString(), timeout=INTERNAL_TIMEOUT_SECONDS
        )
        return answer.message

    async def stream(self, method: str, request: Message) -> Rows:
        """Send a streaming read of the gateway's own and collect its rows."""
        call = self.channel.stream(method, request.SerializeToString(), timeout=INTERNAL_TIMEOUT_SECONDS)
        try:
            return await collect(call)
        finally:
            call.cancel()

    async def create_session(self, database: str, label: str) -> str:
        """Make a session with a label and return its name."""
        request = pb.CreateSessionRequest()
        request.database = database
        request.session.labels[label] = "yes"
        answer = await self.unary(SPANNER + "CreateSession", request)
        return pb.Session.FromString(answer).name

    async def sessions(self, database: str, label: str) -> list[str]:
        """Return the names of a database's sessions that have a label, whoever made them."""
        request = pb.ListSessionsRequest()
        request.database = database
        names: list[str] = []
        while True:
            answer = pb.ListSessionsResponse.FromString(await self.unary(SPANNER + "ListSessions", request))
            names += [session.name for session in answer.sessions if label in session.labels]
            if not answer.next_page_token:
                return names
            request.page_token = answer.next_page_token

    async def query(self, session: str, sql: str) -> Rows:
        """Run a query without parameters at a strong timestamp."""
        request = pb.ExecuteSqlRequest()
        request.session = session
        request.sql = sql
        return await self.stream(SPANNER + "ExecuteStreamingSql", request)

    async def read(self, session: str, table: str, columns: Sequence[str], keys: Sequence[ListValue]) -> Rows:
        """Read rows by their keys; keys that are gone are left out."""
        request = pb.ReadRequest()
        request.session = session
        request.table = table
        request.columns.extend(columns)
        request.key_set.keys.extend(keys)
        return await self.stream(SPANNER + "StreamingRead", request)

    async def schema(self, database: str) -> list[str]:
        """Return the database's DDL statements as the official emulator prints them."""
        request = pb.GetDatabaseDdlRequest()
        request.database = database
        answer = await self.unary(DATABASE_ADMIN + "GetDatabaseDdl", request)
        return list(pb.GetDatabaseDdlResponse.FromString(answer).statements)

    async def dialect(self, session: str) -> DialectName:
        """Return the dialect of a session's database; the official emulator tells it in no other way."""
        rows = (await self.query(session, _DIALECT)).rows
        return "postgresql" if rows and rows[0][0].string_value == "POSTGRESQL" else "googlesql"


async def collect(chunks: AsyncIterator[bytes]) -> Rows:
    """Put the chunks of a streamed answer together."""
    result = Rows()
    values: list[Value] = []
    merging = False
    async for chunk in chunks:
        part = pb.PartialResultSet.FromString(chunk)
        if part.HasField("metadata"):
            result.metadata.CopyFrom(part.metadata)
        fresh = list(part.values)
        if merging and fresh:
            merge_values(values[-1], fresh.pop(0))
        values.extend(fresh)
        merging = part.chunked_value
    width = len(result.metadata.row_type.fields)
    result.rows = [values[start : start + width] for start in range(0, len(values), width or 1)]
    return result


def merge_values(left: Value, right: Value) -> None:
    """Append the rest of a value that was cut between two chunks."""
    if left.HasField("string_value"):
        left.string_value += right.string_value
        return
    rest = list(right.list_value.values)
    if left.list_value.values and rest:
        last = left.list_value.values[-1]
        if last.HasField("string_value") or last.HasField("list_value"):
            merge_values(last, rest.pop(0))
    left.list_value.values.extend(rest)
