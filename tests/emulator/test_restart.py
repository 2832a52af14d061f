"""A second gateway in front of the same official emulator finds everything again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator.clients import make_client
from tests.emulator.helpers import ID, PAYLOAD, Session
from tests.emulator.words import GOOGLESQL, IN_BOTH_DIALECTS, POSTGRESQL, Words


@pytest.fixture(scope="module")
def second(emulator: Emulator) -> Iterator[Emulator]:
    with Emulator(upstream=emulator.upstream) as second:
        yield second


@IN_BOTH_DIALECTS
def test_queues_and_messages(database: Session, words: Words, second: Emulator) -> None:
    database.send(1)
    other = Session(second, database.path, words=words)
    assert other.shown() == database.shown()
    with other.receive() as received:
        assert received.next()[ID] == 1
        other.send(2)
        assert received.next()[ID] == 2
    other.acknowledge(1)
    assert database.ids() == [2]


@IN_BOTH_DIALECTS
def test_altered_options(database: Session, words: Words, emulator: Emulator) -> None:
    database.ddl("ALTER QUEUE q SET OPTIONS (disable_send = true, locality_group = 'it is')")
    with Emulator(upstream=emulator.upstream) as another:
        other = Session(another, database.path, words=words)
        assert other.shown() == database.shown()
        other.ddl("ALTER QUEUE q SET OPTIONS (disable_send = false)")
        other.send(1)
        assert other.ids() == [1]


@pytest.mark.parametrize(
    ("words", "create"),
    [
        (
            GOOGLESQL,
            (
                "CREATE QUEUE `Order` (`Group` STRING(36) NOT NULL,"
                " `Select` INT64 NOT NULL AS (1) STORED HIDDEN,"
                " Payload JSON NOT NULL) PRIMARY KEY (`Select`, `Group` DESC),"
                " OPTIONS (locality_group = 'it\\'s \"x\" \\\\ \\n')"
            ),
        ),
        (
            GOOGLESQL,
            (
                "CREATE QUEUE m (Id STRING(MAX) NOT NULL, Kind STRING(MAX) NOT NULL AS"
                " ('spanner-queues:CREATE QUEUE x (') STORED, Payload JSON NOT NULL) PRIMARY KEY (Id, Kind)"
            ),
        ),
        (
            POSTGRESQL,
            (
                'CREATE QUEUE "It\'s" ("a""b" text NOT NULL,'
                ' "Select" bigint GENERATED ALWAYS AS (1) STORED NOT NULL,'
                ' payload jsonb NOT NULL HIDDEN, PRIMARY KEY ("Select", "a""b"))'
                " WITH (locality_group = 'it''s \"x\" \\')"
            ),
        ),
        (
            POSTGRESQL,
            (
                "CREATE QUEUE m (id text NOT NULL, kind text GENERATED ALWAYS AS"
                " ('spanner-queues:CREATE QUEUE x (') STORED NOT NULL, payload text NOT NULL,"
                " PRIMARY KEY (id, kind)) WITH (locality_group = E'a\\n''b')"
            ),
        ),
    ],
    indirect=["words"],
)
def test_a_definition_with_any_text_in_it(
    empty: Session, words: Words, create: str, emulator: Emulator
) -> None:
    empty.ddl(create)
    with Emulator(upstream=emulator.upstream) as another:
        other = Session(another, empty.path, words=words)
        assert other.shown() == empty.shown()
        name = other.shown()[0].split(" (", 1)[0].removeprefix("CREATE QUEUE ")
        other.ddl(f"ALTER QUEUE {name} SET OPTIONS (disable_send = true)")
        other.ddl(f"DROP QUEUE {name}")
        assert other.shown() == []


@pytest.mark.parametrize(
    ("words", "statement"),
    [
        (
            GOOGLESQL,
            "CREATE TABLE t (Id INT64, Text STRING(MAX) DEFAULT ('spanner-queues:x')) PRIMARY KEY (Id)",
        ),
        (GOOGLESQL, "CREATE VIEW v SQL SECURITY INVOKER AS SELECT 'spanner-queues:{}' AS content"),
        (POSTGRESQL, "CREATE TABLE t (id bigint PRIMARY KEY, text text DEFAULT 'spanner-queues:x')"),
        (POSTGRESQL, "CREATE VIEW v SQL SECURITY INVOKER AS SELECT 'spanner-queues:{}'::text AS content"),
    ],
    indirect=["words"],
)
def test_a_schema_that_only_mentions_the_mark(database: Session, statement: str) -> None:
    database.ddl(statement)
    assert sum("spanner-queues:" in text for text in database.shown()) == 1
    database.send(1)
    with database.receive() as received:
        assert received.next()[PAYLOAD] == "p1"


@IN_BOTH_DIALECTS
def test_a_schema_that_was_changed_behind_the_gateway(
    database: Session, words: Words, emulator: Emulator, second: Emulator
) -> None:
    other = Session(second, database.path, words=words)
    other.send(1)
    upstream = Session(emulator, database.path, make_client(emulator.upstream), words)
    assert [row[0] for row in upstream.query("SELECT Id FROM q")] == [1]
    assert any("CREATE TABLE q" in text for text in upstream.shown())
