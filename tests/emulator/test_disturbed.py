"""Streams of rows that break, come in pieces or without resume tokens, and what clients make of them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.api_core.exceptions import InternalServerError, from_grpc_error
from google.cloud.spanner_v1 import JsonObject, KeySet
from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Value
from grpc import RpcError
from hypothesis import given
from hypothesis import strategies as st

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator import _protos as pb
from sqlalchemy_spanner_queues.emulator.errors import Refusal
from sqlalchemy_spanner_queues.emulator.faults import Fault
from sqlalchemy_spanner_queues.emulator.serving import faulty
from sqlalchemy_spanner_queues.emulator.serving.disturbed import disturbed
from sqlalchemy_spanner_queues.emulator.serving.pieces import pieces
from sqlalchemy_spanner_queues.emulator.state import State
from sqlalchemy_spanner_queues.emulator.upstream.api import UpstreamApi, merge_values
from tests.emulator.helpers import ID, Session

Plain = str | float | bool | None | list["Plain"]


def value_of(plain: Plain) -> Value:
    match plain:
        case None:
            return Value(null_value=NULL_VALUE)
        case bool():
            return Value(bool_value=plain)
        case str():
            return Value(string_value=plain)
        case list():
            return Value(list_value=ListValue(values=[value_of(element) for element in plain]))
        case _:
            return Value(number_value=plain)


def plain_of(value: Value) -> Plain:
    if value.HasField("list_value"):
        return [plain_of(element) for element in value.list_value.values]
    return None if value.HasField("null_value") else getattr(value, value.WhichOneof("kind") or "")


def cut(plain: Plain, size: int) -> list[Plain]:
    return [plain_of(piece) for piece in pieces(value_of(plain), size)]


@pytest.mark.parametrize(
    ("plain", "size", "expected"),
    [
        ("abcde", 2, ["ab", "cd", "e"]),
        ("ab", 2, ["ab"]),
        ("", 1, [""]),
        (None, 1, [None]),
        (1.5, 1, [1.5]),
        ([], 1, [[]]),
        (["abc", "d"], 2, [["ab"], ["c", "d"]]),
        (["ab", "cd"], 2, [["ab"], ["", "cd"]]),
        ([None, "a", None], 1, [[None], ["a"], ["", None]]),
        ([True, False], 1, [[True], [False]]),
        ([1.5, 2.5], 1, [[1.5, 2.5]]),
        (["NaN", 2.5], 3, [["NaN"], ["", 2.5]]),
        ([["x", "1"], ["y", "2"]], 1, [[["x"]], [["", "1"]], [[""], ["y"]], [["", "2"]]]),
        ([["x", None], ["y"]], 2, [[["x", None], ["y"]]]),
        ([[], ["a"]], 1, [[[], ["a"]]]),
    ],
)
def test_values_are_cut_where_they_can_be_merged(plain: Plain, size: int, expected: list[Plain]) -> None:
    assert cut(plain, size) == expected


scalars = st.one_of(st.none(), st.booleans(), st.floats(allow_nan=False), st.text(max_size=6))
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=6), max_leaves=20)


@given(values, st.integers(1, 7))
def test_merged_pieces_are_the_value_again(plain: Plain, size: int) -> None:
    first, *others = pieces(value_of(plain), size)
    for other in others:
        merge_values(first, other)
    assert plain_of(first) == plain


def part(*values: Plain, width: int = 0, chunked: bool = False, token: bytes = b"") -> bytes:
    made = pb.PartialResultSet()
    for _ in range(width):
        made.metadata.row_type.fields.add().type_.code = 6
    made.values.extend(map(value_of, values))
    made.chunked_value = chunked
    made.resume_token = token
    return made.SerializeToString()


def run(fault: Fault, *chunks: bytes) -> tuple[list[tuple[list[Plain], bool, bytes]], str]:
    """Return what a client sees of a stream: values, whether the last goes on, and token; and the error."""
    seen: list[tuple[list[Plain], bool, bytes]] = []

    async def source() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def read() -> str:
        try:
            async for chunk in disturbed(source(), fault):
                got = pb.PartialResultSet.FromString(chunk)
                seen.append(([plain_of(value) for value in got.values], got.chunked_value, got.resume_token))
        except Refusal as refusal:
            return refusal.details
        return ""

    return seen, asyncio.run(read())


def broken(rows: int) -> Fault:
    return Fault("StreamingRead", "INTERNAL", drop_after_rows=rows)


def test_a_stream_is_cut_at_exactly_so_many_rows() -> None:
    chunks = (part(width=2), part("a", "b", "c", token=b"1"), part("d", "e", "f", token=b"2"))
    assert run(broken(0), *chunks) == ([([], False, b"")], "injected fault after 0 rows")
    assert run(broken(1), *chunks)[0][1:] == [(["a", "b"], False, b"")]
    assert run(broken(2), *chunks)[0][1:] == [(["a", "b", "c"], False, b"1"), (["d"], False, b"")]
    assert run(broken(3), *chunks)[0][1:] == [(["a", "b", "c"], False, b"1"), (["d", "e", "f"], False, b"2")]
    assert run(broken(3), *chunks)[1] == "injected fault after 3 rows"
    assert run(broken(4), *chunks)[1] == ""


def test_values_that_go_on_in_the_next_chunk_are_counted_once() -> None:
    chunks = (part("a", "b", width=2, chunked=True), part("b", "c", "d", chunked=True), part("d", "e", "f"))
    assert run(broken(1), *chunks)[0][1] == (["b"], False, b"")
    assert run(broken(2), *chunks)[0][1:] == [(["b", "c", "d"], True, b""), (["d"], False, b"")]


def test_statements_without_rows_are_not_broken() -> None:
    assert run(broken(1), part(), part()) == ([([], False, b"")] * 2, "")


def test_pieces_keep_the_token_and_the_statistics_for_the_end() -> None:
    fault = Fault("StreamingRead", None, split_values=2)
    seen, _ = run(fault, part("abc", "d", None, "efg", width=2, chunked=True, token=b"t"), part("h", "ij"))
    assert seen == [
        (["ab"], True, b""),
        (["c", "d", None, "ef"], True, b""),
        (["g"], True, b"t"),
        (["h", "ij"], False, b""),
    ]


def test_tokens_are_withheld() -> None:
    fault = Fault("StreamingRead", None, resume_tokens=False)
    assert run(fault, part("a", width=1, token=b"t"))[0] == [(["a"], False, b"")]


class Asked:
    name = "StreamingRead"


def test_what_is_read_is_closed_as_soon_as_the_stream_breaks() -> None:
    closed: list[str] = []

    async def source() -> AsyncIterator[bytes]:
        try:
            for _ in range(9):
                yield part("a", width=1)
        finally:
            closed.append("closed")

    async def read() -> list[str]:
        chunks, state = source(), State(UpstreamApi("localhost:1"))
        with pytest.raises(Refusal):
            async for _ in faulty.FaultyRequest(state, Asked(), b"", broken(2)).stream(chunks):
                pass
        was = list(closed)
        await state.api.close()
        return was

    assert asyncio.run(read()) == ["closed"]


TYPES = (
    "CREATE TABLE Everything (Id INT64 NOT NULL, S STRING(MAX), B BYTES(MAX), J JSON, "
    "SS ARRAY<STRING(MAX)>, II ARRAY<INT64>, BB ARRAY<BYTES(MAX)>, FF ARRAY<FLOAT64>, OO ARRAY<BOOL>, "
    "T TIMESTAMP, N NUMERIC, F FLOAT64) PRIMARY KEY (Id)"
)
COLUMNS = ("Id", "S", "B", "J", "SS", "II", "BB", "FF", "OO", "T", "N", "F")
TEXT = "größer, длиннее 🚀 and so on"
ROWS: list[tuple[Any, ...]] = [
    (
        *(1, TEXT, base64.b64encode(bytes(range(256))), JsonObject({"a": [1, {"b": TEXT}], "c": None})),
        *([TEXT, "", None, "x"], [1, -(2**63), None, 2**63 - 1], [base64.b64encode(b"\x00" * 40), None]),
        *([1.5, None, float("inf"), 2.5], [True, None, False], "2026-01-31T12:00:00.123456Z", "1.5", -0.25),
    ),
    (2, *(None for _ in COLUMNS[1:])),
    (3, "", b"", JsonObject([]), [], [None], [b""], [], [None, None], None, None, float("-inf")),
]


@pytest.fixture
def everything(emulator: Emulator, database: Session) -> Session:
    made = Session(emulator, emulator.create_database(statements=[TYPES]))
    with made.db.batch() as batch:
        batch.insert("Everything", COLUMNS, ROWS)
    return made


@pytest.mark.parametrize("size", [1, 3, 10])
def test_the_official_client_merges_every_type(everything: Session, size: int) -> None:
    sql = f"SELECT {', '.join(COLUMNS)} FROM Everything ORDER BY Id"
    plain = everything.query(sql)
    everything.emulator.inject("ExecuteStreamingSql", code=None, split_values=size)
    assert everything.query(sql) == plain
    everything.emulator.inject("StreamingRead", code=None, split_values=size, match="Everything")
    with everything.db.snapshot() as snapshot:
        assert list(snapshot.read("Everything", COLUMNS, KeySet(all_=True))) == plain


@pytest.mark.parametrize("size", [1, 4])
def test_the_official_client_merges_arrays_of_structs(everything: Session, size: int) -> None:
    sql = """SELECT ARRAY(SELECT AS STRUCT S, Id, SS FROM Everything ORDER BY Id),
    ARRAY(SELECT AS STRUCT Id, F, S FROM Everything ORDER BY Id)"""
    plain = everything.query(sql)
    everything.emulator.inject("ExecuteStreamingSql", code=None, split_values=size)
    assert everything.query(sql) == plain


def chunks_of(database: Session, sql: str) -> list[Any]:
    return list(database.db.spanner_api.transport.execute_streaming_sql(database.request(sql), timeout=10))


def test_large_values_come_in_many_chunks(everything: Session) -> None:
    sql = "SELECT S FROM Everything WHERE Id = 1"
    assert not any(chunk.chunked_value for chunk in chunks_of(everything, sql))
    everything.emulator.inject("ExecuteStreamingSql", code=None, split_values=5)
    chunks = chunks_of(everything, sql)
    assert [chunk.chunked_value for chunk in chunks] == [True] * (len(TEXT) // 5) + [False]
    assert "".join(chunk.values[0] for chunk in chunks) == TEXT


def test_received_messages_are_cut_and_merged(database: Session, emulator: Emulator) -> None:
    database.send(1, 2, 3)
    emulator.inject("ExecuteStreamingSql", code=None, split_values=1, match="RECEIVE_")
    with database.receive() as received:
        assert sorted(row[:2] for row in received.take(3)) == [[1, "p1"], [2, "p2"], [3, "p3"]]


def rows_before(call: Any) -> tuple[int, Exception | None]:
    """Count the values of a stream with one column before it breaks."""
    values = 0
    try:
        for chunk in call:
            values += len(chunk.values)
    except RpcError as error:
        return values, from_grpc_error(error)
    return values, None


@pytest.mark.parametrize("rows", [0, 2, 3])
def test_a_query_breaks_after_so_many_rows(everything: Session, rows: int) -> None:
    everything.emulator.inject("ExecuteStreamingSql", code="INTERNAL", drop_after_rows=rows)
    request = everything.request("SELECT Id FROM Everything")
    call = everything.db.spanner_api.transport.execute_streaming_sql(request, timeout=10)
    count, error = rows_before(call)
    assert count == rows
    assert isinstance(error, InternalServerError)


def test_a_stream_that_breaks_is_read_again_by_the_client(everything: Session) -> None:
    # The official client goes on by itself after UNAVAILABLE; each row comes once.
    everything.emulator.inject("ExecuteStreamingSql", drop_after_rows=2, split_values=2)
    assert everything.query("SELECT Id, S FROM Everything ORDER BY Id") == [[1, TEXT], [2, None], [3, ""]]


def test_a_stream_that_broke_takes_no_more_messages(database: Session, emulator: Emulator) -> None:
    emulator.inject("ExecuteStreamingSql", code="INTERNAL", drop_after_rows=1, match="RECEIVE_")
    with database.receive() as received:
        database.send(1)
        assert received.next()[ID] == 1
        assert isinstance(received.end(), InternalServerError)
    database.send(2)
    with database.receive() as received:
        assert received.next()[ID] == 2
    assert sorted(lease["key"] for lease in emulator.leases(database.path)) == [["1"], ["2"]]
