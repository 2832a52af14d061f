"""Large values, rows, commits and results."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Iterator

import grpc
import pytest
from google.api_core.exceptions import FailedPrecondition
from google.cloud.spanner_v1 import (
    ExecuteSqlRequest,
    KeySet,
    param_types,
)
from google.cloud.spanner_v1.database import Database
from sqlalchemy import BigInteger, Column, Engine, MetaData, String, Table, func, insert, select

from tests.passthrough.helpers import Route

MEGABYTE = 1 << 20
LARGEST = 2_621_440
NUMBERED = "SELECT n, FORMAT('%09d', n) AS word FROM UNNEST(GENERATE_ARRAY(1, @count)) AS n ORDER BY n"


@pytest.fixture
def database(route: Route) -> Iterator[Database]:
    """A fresh database for large texts and blobs."""
    database = route.create_database(
        """CREATE TABLE Texts (Id INT64, Text STRING(MAX), Blob BYTES(MAX), Parts ARRAY<STRING(MAX)>)
        PRIMARY KEY (Id)"""
    )
    yield database
    database.drop()


@pytest.fixture
def metadata() -> MetaData:
    metadata = MetaData()
    key = Column("id", BigInteger, primary_key=True, autoincrement=False)
    Table("texts", metadata, key, Column("text", String))
    return metadata


def made(length: int, seed: int = 1) -> str:
    """Make a text, the same each time."""
    part = "".join(random.Random(seed).choices(string.ascii_letters + "€ü🦜", k=997))
    return (part * (length // len(part) + 1))[:length]


def read(database: Database, *columns: str) -> list[list[object]]:
    with database.snapshot() as snapshot:
        return list(snapshot.read("Texts", columns, KeySet(all_=True)))


def test_the_largest_text_and_nothing_larger(database: Database) -> None:
    largest = "x" * LARGEST
    with database.batch() as batch:
        batch.insert("Texts", ["Id", "Text"], [(1, largest)])
    assert read(database, "Text") == [[largest]]
    with pytest.raises(FailedPrecondition, match="exceeds the maximum size limit"), database.batch() as batch:
        batch.update("Texts", ["Id", "Text"], [(1, largest + "x")])


def test_a_commit_of_many_megabytes(database: Database) -> None:
    text = made(MEGABYTE)
    with database.batch() as batch:
        batch.insert("Texts", ["Id", "Text"], [(id, text) for id in range(8)])
    rows = read(database, "Id", "Text")
    assert [id for id, _ in rows] == list(range(8))
    assert {content for _, content in rows} == {text}


def test_large_blob(database: Database) -> None:
    blob = random.Random(2).randbytes(2 * MEGABYTE)
    sql, types = "INSERT INTO Texts (Id, Blob) VALUES (1, @blob)", {"blob": param_types.BYTES}
    sent = base64.b64encode(blob)
    database.run_in_transaction(lambda transaction: transaction.execute_update(sql, {"blob": sent}, types))
    ((received,),) = read(database, "Blob")
    assert base64.b64decode(received) == blob


def test_a_long_array_is_cut_between_its_elements(database: Database) -> None:
    parts = [made(50_000, seed) for seed in range(60)] + [None, ""]
    with database.batch() as batch:
        batch.insert("Texts", ["Id", "Parts", "Text"], [(1, parts, "after"), (2, None, "next")])
    assert read(database, "Parts", "Text") == [[parts, "after"], [None, "next"]]


def test_ten_thousand_rows(database: Database) -> None:
    with database.snapshot() as snapshot:
        types = {"count": param_types.INT64}
        rows = list(snapshot.execute_sql(NUMBERED, params={"count": 10_000}, param_types=types))
    assert rows == [[n, f"{n:09}"] for n in range(1, 10_001)]


def test_two_thousand_mutations_in_one_commit(database: Database) -> None:
    with database.batch() as batch:
        batch.insert("Texts", ["Id", "Text"], [(id, f"t{id}") for id in range(2_000)])
    assert read(database, "Id") == [[id] for id in range(2_000)]


def test_large_texts_through_the_dialect(engine: Engine, metadata: MetaData) -> None:
    texts = metadata.tables["texts"]
    with engine.begin() as connection:
        connection.execute(insert(texts), [{"id": id, "text": made(MEGABYTE, id)} for id in range(3)])
    with engine.connect() as connection:
        rows = connection.execute(select(texts).order_by(texts.c.id)).all()
        assert [(id, text == made(MEGABYTE, id)) for id, text in rows] == [(0, True), (1, True), (2, True)]
        assert connection.scalar(select(func.sum(func.char_length(texts.c.text)))) == 3 * MEGABYTE


def test_a_long_statement(database: Database) -> None:
    numbers = ", ".join(map(str, range(20_000)))
    with database.snapshot() as snapshot:
        assert list(snapshot.execute_sql(f"SELECT ARRAY_LENGTH([{numbers}])")) == [[20_000]]


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed_requests(route: Route, database: Database, compression: grpc.Compression) -> None:
    session = database.spanner_api.create_session(database=database.name)
    request = ExecuteSqlRequest(session=session.name, sql=f"SELECT CHAR_LENGTH('{'x' * 100_000}')")
    answer = route.ask("ExecuteSql", request, compression=compression)
    assert answer.message.rows[0][0] == "100000"
    stream = route.ask("ExecuteStreamingSql", request, compression=compression)
    assert [value for part in stream.messages for value in part.values] == ["100000"]


def test_an_answer_in_one_piece_larger_than_four_megabytes(route: Route, database: Database) -> None:
    session = database.spanner_api.create_session(database=database.name)
    sql = "SELECT REPEAT('x', 1000000) FROM UNNEST(GENERATE_ARRAY(1, 6))"
    answer = route.ask("ExecuteSql", ExecuteSqlRequest(session=session.name, sql=sql))
    assert [len(row[0]) for row in answer.message.rows] == [1_000_000] * 6
