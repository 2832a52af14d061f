"""The table that stands for a queue in SQLite, and what SQLite makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from sqlalchemy import (
    BigInteger,
    Column,
    Computed,
    Engine,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    inspect,
)
from sqlalchemy.exc import DatabaseError

from sqlalchemy_spanner_queues import Bytes, CreateQueue, DropQueue, Json, Proto, Queue, Text
from tests.unit.dialects import SQLITE, text


def queue_named(name: str = "Tasks", payload: Any = None, **options: Any) -> Queue:
    return Queue(
        name,
        MetaData(),
        Column("TaskId", String(36), primary_key=True),
        payload=payload or Bytes(),
        **options,
    )


def statements(engine: Engine, action: Any) -> list[str]:
    """Return the texts that an action sends to the database."""
    seen: list[str] = []

    @event.listens_for(engine, "before_cursor_execute")
    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        seen.append(statement)

    action(engine)
    event.remove(engine, "before_cursor_execute", note)
    return seen


def test_whole_text_of_a_queue() -> None:
    assert text(CreateQueue(queue_named()), SQLITE) == (
        'CREATE TABLE "Tasks" (\n'
        '  "TaskId" VARCHAR(36) NOT NULL,\n'
        '  "payload" BLOB NOT NULL,\n'
        '  "DeliverTime" INTEGER NOT NULL'
        " DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)),\n"
        "  spanner_available_at INTEGER NOT NULL DEFAULT 0,\n"
        "  spanner_lease_token TEXT,\n"
        "  spanner_lease_until INTEGER,\n"
        "  spanner_first_delivery INTEGER,\n"
        "  spanner_deliveries INTEGER NOT NULL DEFAULT 0,\n"
        '  PRIMARY KEY ("TaskId")\n'
        ")"
    )


@pytest.mark.parametrize(
    ("payload", "written"),
    [
        (Bytes(), "BLOB"),
        (Bytes(1024), "BLOB"),
        (Text(), "TEXT"),
        (Text(200), "TEXT"),
        (Json(), "TEXT"),
        (Proto(Timestamp), "BLOB"),
    ],
)
def test_payload_types(payload: Any, written: str) -> None:
    assert f'\n  "payload" {written} NOT NULL,\n' in text(CreateQueue(queue_named(payload=payload)), SQLITE)


@pytest.mark.parametrize("name", ["Tasks", "select", "Task-Events", 'say "hi"', "it's"])
def test_any_name_can_be_created_and_dropped(name: str) -> None:
    engine = create_engine("sqlite://")
    queue = queue_named(name)
    queue.metadata.create_all(engine)
    queue.metadata.create_all(engine)
    assert inspect(engine).get_table_names() == [name]
    queue.metadata.drop_all(engine)
    assert inspect(engine).get_table_names() == []


def test_if_not_exists_and_drop() -> None:
    queue = queue_named("order")
    made = text(CreateQueue(queue, if_not_exists=True), SQLITE)
    assert made.startswith('CREATE TABLE IF NOT EXISTS "order" (\n')
    assert text(DropQueue(queue), SQLITE) == 'DROP TABLE "order"'
    assert text(DropQueue(queue, if_exists=True), SQLITE) == 'DROP TABLE IF EXISTS "order"'


def test_if_not_exists_can_be_run_twice() -> None:
    engine = create_engine("sqlite://")
    queue = queue_named()
    with engine.begin() as connection:
        connection.execute(CreateQueue(queue, if_not_exists=True))
        connection.execute(CreateQueue(queue, if_not_exists=True))
    assert inspect(engine).has_table("Tasks")


def test_the_lease_columns_are_no_columns_of_the_model() -> None:
    assert queue_named().c.keys() == ["TaskId", "payload", "deliver_time"]


def test_creation_adds_the_index_of_deliveries() -> None:
    engine = create_engine("sqlite://")
    seen = statements(engine, queue_named().metadata.create_all)
    assert any(statement.startswith('CREATE INDEX IF NOT EXISTS "Tasks_ready"') for statement in seen)


def test_generated_key_column_is_computed_by_the_database() -> None:
    engine = create_engine("sqlite://")
    metadata = MetaData()
    queue = Queue(
        "Tasks",
        metadata,
        Column("UserId", BigInteger, primary_key=True),
        Column("Shard", BigInteger, Computed('"UserId" % 4', persisted=True), primary_key=True),
        payload=Bytes(),
    )
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(queue.insert().values(UserId=7, payload=b""))
        assert connection.execute(queue.select()).one().Shard == 3


def test_a_message_needs_its_parent_row_and_goes_with_it() -> None:
    engine = create_engine("sqlite://")
    metadata = MetaData()
    users = Table("Users", metadata, Column("UserId", BigInteger, primary_key=True, autoincrement=False))
    queue = Queue(
        "Tasks",
        metadata,
        Column("UserId", BigInteger, primary_key=True),
        payload=Bytes(),
        interleave_in=users,
        on_delete="CASCADE",
    )
    metadata.create_all(engine)
    with engine.begin() as connection, pytest.raises(DatabaseError, match="parent row is missing"):
        connection.execute(queue.insert().values(UserId=1, payload=b""))
    with engine.begin() as connection:
        connection.execute(users.insert().values(UserId=1))
        connection.execute(queue.insert().values(UserId=1, payload=b""))
        connection.execute(users.delete())
        assert connection.execute(queue.select()).all() == []


def test_a_parent_row_with_messages_stays_where_deletion_takes_no_action() -> None:
    engine = create_engine("sqlite://")
    metadata = MetaData()
    users = Table("Users", metadata, Column("UserId", BigInteger, primary_key=True, autoincrement=False))
    queue = Queue(
        "Tasks",
        metadata,
        Column("UserId", BigInteger, primary_key=True),
        payload=Bytes(),
        interleave_in=users,
        on_delete="NO ACTION",
    )
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(users.insert().values(UserId=1))
        connection.execute(queue.insert().values(UserId=1, payload=b""))
    with engine.begin() as connection, pytest.raises(DatabaseError, match="messages are interleaved"):
        connection.execute(users.delete())


def test_sending_can_be_disabled() -> None:
    engine = create_engine("sqlite://")
    queue = queue_named(options={"disable_send": True})
    queue.metadata.create_all(engine)
    with engine.begin() as connection, pytest.raises(DatabaseError, match="sending is disabled"):
        connection.execute(queue.insert().values(TaskId="a", payload=b""))
