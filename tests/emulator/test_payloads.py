"""Payloads of every type: sent by DML and by mutation, received plainly and through a computed query."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from google.cloud.spanner_v1 import JsonObject, param_types
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from tests.conformance.protos import FILE, Parcel
from tests.emulator.helpers import Session
from tests.emulator.words import GOOGLESQL, IN_BOTH_DIALECTS, POSTGRESQL, Words, plain

TEXTS = [
    "",
    "a",
    'it\'s "quoted" \\ back',
    "lines\nand\ttabs",
    "ü€ 😀",
    "RECEIVE_q() -- spanner-queues:",
    "x" * 5000,
]
JSONS: list[Any] = [{}, {"a": [1, 2.5, None, {"b": "it's"}], "ü": True}, [1, [2]], "text", 7, True, None]
BYTES = [b"", b"\x00\xff", "ü€".encode(), b"'\"\\", bytes(range(256)) * 20]


def create(words: Words, kind: str) -> str:
    key = "Id INT64 NOT NULL" if words is GOOGLESQL else "Id bigint NOT NULL PRIMARY KEY"
    tail = ") PRIMARY KEY (Id)" if words is GOOGLESQL else ")"
    return f"CREATE QUEUE p ({key}, Payload {kind} NOT NULL{tail}"


def send_both_ways(session: Session, values: list[Any], kind: Any) -> None:
    """Send each value by DML under its place, and by mutation under a thousand more."""
    words = session.words
    for place, value in enumerate(values):
        session.write(
            f"INSERT INTO p (Id, Payload) VALUES ({place}, {words.parameter(1)})",
            params={"p1": value},
            param_types={"p1": kind},
        )
    with session.db.batch() as batch:
        for place, value in enumerate(values):
            batch.send(queue="p", key=[1000 + place], payload=value)


def received(session: Session, sql: str, count: int) -> list[Any]:
    with session.receive(sql) as stream:
        rows = sorted(stream.take(count), key=lambda row: row[0])
    return [plain(row[1]) for row in rows]


def check(session: Session, values: list[Any], kind: Any) -> None:
    send_both_ways(session, values, kind)
    words, expected = session.words, [*values, *values]
    assert received(session, f"SELECT * FROM {words.receive('p')}", len(expected)) == expected
    session.emulator.advance(10)
    computed = f"SELECT Id + 0, s.Payload FROM (SELECT * FROM {words.receive('p')}) AS s"
    assert received(session, computed, len(expected)) == expected


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (GOOGLESQL, "STRING(MAX)"),
        (GOOGLESQL, "STRING(5000)"),
        (POSTGRESQL, "text"),
        (POSTGRESQL, "varchar"),
        (POSTGRESQL, "varchar(5000)"),
        (POSTGRESQL, "character varying(5000)"),
    ],
    indirect=["words"],
)
def test_texts(empty: Session, words: Words, kind: str) -> None:
    empty.ddl(create(words, kind))
    check(empty, TEXTS, param_types.STRING)


@pytest.mark.parametrize(
    ("words", "kind"),
    [(GOOGLESQL, "BYTES(MAX)"), (GOOGLESQL, "BYTES(10000)"), (POSTGRESQL, "bytea")],
    indirect=["words"],
)
def test_bytes(empty: Session, words: Words, kind: str) -> None:
    empty.ddl(create(words, kind))
    # The client takes and gives bytes as they travel.
    check(empty, [base64.b64encode(value) for value in BYTES], param_types.BYTES)


@pytest.mark.parametrize(("words", "kind"), [(GOOGLESQL, "JSON"), (POSTGRESQL, "jsonb")], indirect=["words"])
def test_json(empty: Session, words: Words, kind: str) -> None:
    empty.ddl(create(words, kind))
    values = [JsonObject(value) for value in JSONS if value is not None]
    send_both_ways(empty, values, words.json_type)
    rows = received(empty, f"SELECT * FROM {words.receive('p')}", 2 * len(values))
    assert [repr(row) for row in rows] == [repr(plain(value)) for value in (*values, *values)]
    empty.emulator.advance(10)
    sql = f"SELECT Id + 0, Payload FROM {words.receive('p')} WHERE Id < 1000"
    assert [repr(row) for row in received(empty, sql, len(values))] == [
        repr(plain(value)) for value in values
    ]


@IN_BOTH_DIALECTS
def test_a_filter_looks_into_json(empty: Session, words: Words) -> None:
    empty.ddl(create(words, "JSON" if words is GOOGLESQL else "jsonb"))
    for id, kind in ((1, "mail"), (2, "sms")):
        document = words.json(f'{{"kind": "{kind}", "n": {id}}}')
        empty.write(f"INSERT INTO p (Id, Payload) VALUES ({id}, {document})")
    kind = "JSON_VALUE(Payload, '$.kind')" if words is GOOGLESQL else "Payload ->> 'kind'"
    with empty.receive(f"SELECT Id, {kind} FROM {words.receive('p')} WHERE {kind} = 'sms'") as stream:
        assert stream.next() == [2, "sms"]


@pytest.mark.parametrize("size", [100_000, 2_000_000])
@IN_BOTH_DIALECTS
def test_large_payloads(empty: Session, words: Words, size: int) -> None:
    empty.ddl(create(words, "STRING(MAX)" if words is GOOGLESQL else "text"))
    with empty.db.batch() as batch:
        for id in range(3):
            batch.send(queue="p", key=[id], payload="ü" + "x" * size)
    payloads = received(empty, f"SELECT * FROM {words.receive('p')}", 3)
    assert [len(payload) for payload in payloads] == [size + 1] * 3
    empty.emulator.advance(10)
    computed = f"SELECT Id, Payload, LENGTH(Payload) FROM {words.receive('p')}"
    assert [len(payload) for payload in received(empty, computed, 3)] == [size + 1] * 3


@pytest.mark.parametrize("kind", ["shop.Parcel", "`shop.Parcel`"])
@pytest.mark.parametrize("words", [GOOGLESQL], indirect=True)
def test_protos(empty: Session, words: Words, kind: str) -> None:
    request = {
        "database": empty.path,
        "statements": ["CREATE PROTO BUNDLE (`shop.Parcel`)", create(words, kind)],
        "proto_descriptors": FileDescriptorSet(file=[FILE]).SerializeToString(),
    }
    empty.emulator.client.database_admin_api.update_database_ddl(request=request).result(30)
    parcel = Parcel(label="it's", grams=7, parts=[b"\x00\xff"])
    data = parcel.SerializeToString()
    # The client takes what travels, and gives back what it stands for.
    send_both_ways(empty, [base64.b64encode(data)], param_types.ProtoMessage(parcel))
    assert received(empty, f"SELECT * FROM {words.receive('p')}", 2) == [data] * 2
    empty.emulator.advance(10)
    assert received(empty, f"SELECT Id + 0, Payload FROM {words.receive('p')}", 2) == [data] * 2
    empty.emulator.advance(60)
    sql = f"SELECT Id, Payload.label FROM {words.receive('p')} AS m WHERE m.Payload.grams = 7"
    assert received(empty, sql, 2) == ["it's"] * 2
