"""Queues of unusual shapes: beside their parent, with hidden and with computed columns."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import NotFound

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import Session
from tests.emulator.words import GOOGLESQL, POSTGRESQL, Words


@pytest.mark.parametrize(
    ("words", "create"),
    [
        (
            GOOGLESQL,
            (
                "CREATE QUEUE m (UserId INT64 NOT NULL, MailId STRING(9), Payload STRING(MAX) NOT NULL)"
                " PRIMARY KEY (UserId, MailId), INTERLEAVE IN Users"
            ),
        ),
        (
            POSTGRESQL,
            (
                "CREATE QUEUE m (UserId bigint NOT NULL, MailId text NOT NULL, payload text NOT NULL,"
                " PRIMARY KEY (UserId, MailId)) INTERLEAVE IN Users"
            ),
        ),
    ],
    indirect=["words"],
)
def test_a_queue_beside_its_parent_needs_no_row_there(empty: Session, words: Words, create: str) -> None:
    empty.ddl(words.schema[0], create)
    assert any("INTERLEAVE IN Users" in text for text in empty.shown())
    empty.write("INSERT INTO m (UserId, MailId, Payload) VALUES (7, 'm', 'x')")
    with empty.receive(f"SELECT * FROM {words.receive('m')}") as received:
        assert received.next()[:3] == [7, "m", "x"]


@pytest.mark.parametrize(
    ("words", "create"),
    [
        (
            GOOGLESQL,
            (
                "CREATE QUEUE h (Id INT64 NOT NULL, Shard INT64 NOT NULL AS (MOD(Id, 4)) STORED HIDDEN,"
                " Payload STRING(MAX) NOT NULL HIDDEN) PRIMARY KEY (Shard, Id)"
            ),
        ),
        (
            POSTGRESQL,
            (
                "CREATE QUEUE h (Id bigint NOT NULL,"
                " Shard bigint GENERATED ALWAYS AS (Id % 4) STORED NOT NULL HIDDEN,"
                " payload text NOT NULL HIDDEN, PRIMARY KEY (Shard, Id))"
            ),
        ),
    ],
    indirect=["words"],
)
def test_hidden_and_computed_columns(empty: Session, words: Words, create: str, emulator: Emulator) -> None:
    empty.ddl(create)
    (shown,) = empty.shown()
    assert shown.count("HIDDEN") == 2
    with empty.db.batch() as batch:
        batch.send(queue="h", key=[1, 5], payload="sent")
    empty.write("INSERT INTO h (Id, Payload) VALUES (6, 'inserted'), (7, 'gone')")
    sql = f"SELECT Id, Shard, Payload, {words.column('SpannerLeaseToken')} FROM {words.receive('h')}"
    with empty.receive(f"{sql} WHERE Shard < 3") as received:
        rows = sorted(received.take(2))
        assert [row[:3] for row in rows] == [[5, 1, "sent"], [6, 2, "inserted"]]
        emulator.advance(10)
        rows = sorted(received.take(2))
    renewed = empty.query(f"SELECT * FROM {words.renew(repr(rows[0][3]), 'h')}")
    assert [row[0] for row in renewed] == [rows[0][3]]
    with empty.db.batch() as batch:
        batch.ack(queue="h", key=[1, 5])
        batch.ack(queue="h", key=[3, 7])
    empty.write("DELETE FROM h WHERE Id = 6 AND Shard = 2 ASSERT_ROWS_MODIFIED 1")
    assert empty.query("SELECT Id FROM h") == []
    with pytest.raises(NotFound), empty.db.batch() as batch:
        batch.ack(queue="h", key=[1, 5])


@pytest.mark.parametrize(
    ("words", "create", "names"),
    [
        (
            GOOGLESQL,
            (
                "CREATE QUEUE `Order` (`Group` INT64, `Select` STRING(9), offset INT64, Hidden INT64,"
                " returning BOOL, PAYLOAD STRING(MAX) NOT NULL)"
                " PRIMARY KEY (`group`, OFFSET, `select` DESC, hidden, returning)"
            ),
            ("`Group`", "`Select`", "offset", "Hidden", "returning"),
        ),
        (
            POSTGRESQL,
            (
                'CREATE QUEUE "Order" ("Group" bigint, "select" text, hash bigint, HIDDEN bigint,'
                " qualify boolean, payload text NOT NULL,"
                ' PRIMARY KEY ("Group", HASH, "select", hidden, qualify))'
            ),
            ('"Group"', '"select"', "hash", "hidden", "qualify"),
        ),
    ],
    indirect=["words"],
)
def test_keywords_as_names(empty: Session, words: Words, create: str, names: tuple[str, ...]) -> None:
    empty.ddl(create)
    queue, columns = names[0][0] + "Order" + names[0][0], ", ".join(names)
    empty.write(f"INSERT INTO {queue} ({columns}, payload) VALUES (1, 'a', 2, 3, TRUE, 'x')")
    call = words.receive(f"{names[0][0]}Order{names[0][0]}").replace("RECEIVE_`Order`", "`RECEIVE_Order`")
    call = call.replace('receive_"Order"', '"receive_Order"')
    condition = f"{names[0]} = 1 AND m.{names[2]} = 2 AND {names[4]} AND {names[3]} > 0"
    with empty.receive(f"SELECT {columns} FROM {call} AS m WHERE {condition}") as received:
        assert received.next() == [1, "a", 2, 3, True]
    with empty.db.batch() as batch:
        batch.ack(queue="order", key=[1, 2, "a", 3, True])
    assert empty.query(f"SELECT {names[0]} FROM {queue}") == []
