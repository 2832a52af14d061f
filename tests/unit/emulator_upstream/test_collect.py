"""Values that were cut between two chunks of an answer are put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Value

from sqlalchemy_spanner_queues.emulator import _protos as pb
from sqlalchemy_spanner_queues.emulator.upstream.api import collect

NULL = Value(null_value=NULL_VALUE)
TRUE = Value(bool_value=True)


def text(value: str) -> Value:
    return Value(string_value=value)


def array(*values: Value) -> Value:
    return Value(list_value=ListValue(values=values))


def collected(width: int, *chunks: tuple[list[Value], bool]) -> list[list[Value]]:
    """Collect chunks, each its values and whether the last of them goes on in the next."""

    async def stream() -> AsyncIterator[bytes]:
        for number, (values, chunked) in enumerate(chunks):
            part = pb.PartialResultSet()
            for _ in range(0 if number else width):
                part.metadata.row_type.fields.add()
            part.values.extend(values)
            part.chunked_value = chunked
            yield part.SerializeToString()

    async def run() -> list[list[Value]]:
        return (await collect(stream())).rows

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("chunks", "value"),
    [
        ([([text("hel")], True), ([text("l")], True), ([text("o")], False)], text("hello")),
        ([([text("hello")], True), ([], True), ([text("")], False)], text("hello")),
        ([([array(text("a"), text("b"))], True), ([array(text("c"), text("d"))], False)],
         array(text("a"), text("bc"), text("d"))),
        ([([array(NULL)], True), ([array(text("a"))], False)], array(NULL, text("a"))),
        ([([array()], True), ([array(TRUE)], False)], array(TRUE)),
        ([([array(array(text("a")))], True), ([array(array(text("b"), NULL))], False)],
         array(array(text("ab"), NULL))),
    ],
)  # fmt: skip
def test_one_value(chunks: list[tuple[list[Value], bool]], value: Value) -> None:
    assert collected(1, *chunks) == [[value]]


def test_rows_do_not_end_where_chunks_do() -> None:
    rows = collected(
        2,
        ([text("a"), text("hel")], True),
        ([text("lo"), array(text("x"), text("y"))], True),
        ([array(text("z"), text("w")), TRUE], False),
        ([text("b")], False),
        ([NULL], False),
    )
    assert rows == [
        [text("a"), text("hello")],
        [array(text("x"), text("yz"), text("w")), TRUE],
        [text("b"), NULL],
    ]


def test_an_answer_without_rows() -> None:
    assert collected(2, ([], False)) == []
    assert collected(0, ([], False)) == []
