"""CREATE QUEUE and DROP QUEUE as the documentation writes them for GoogleSQL databases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from sqlalchemy import (
    TIMESTAMP,
    BigInteger,
    Boolean,
    Column,
    Computed,
    Date,
    Float,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    column,
    func,
)

from sqlalchemy_spanner_queues import Bytes, CreateQueue, DropQueue, Json, Proto, Queue, Text
from tests.unit.dialects import GOOGLESQL, text


def create(*columns: Any, name: str = "Tasks", payload: Any = None, **options: Any) -> str:
    queue = Queue(name, MetaData(), *columns, payload=payload or Bytes(), **options)
    return text(CreateQueue(queue), GOOGLESQL)


def key(name: str = "TaskId", kind: Any = None, *args: Any) -> Column[Any]:
    return Column(name, kind or String(36), *args, primary_key=True)


def test_whole_text_of_a_queue_with_everything() -> None:
    metadata = MetaData()
    Table("Users", metadata, Column("UserId", BigInteger, primary_key=True))
    queue = Queue(
        "UserTasks",
        metadata,
        key("UserId", BigInteger),
        key("CreatedAt", TIMESTAMP(timezone=True)),
        key("TaskId"),
        payload=Json(),
        interleave_in="Users",
        on_delete="CASCADE",
        row_deletion=("CreatedAt", timedelta(days=7)),
        options={"receive_mode": "PULL", "disable_send": False, "locality_group": "warm"},
        descending=["CreatedAt"],
        hidden=["TaskId", "payload"],
        commit_timestamps=["CreatedAt"],
    )
    assert text(CreateQueue(queue), GOOGLESQL) == (
        "CREATE QUEUE UserTasks (\n"
        "  UserId INT64 NOT NULL,\n"
        "  CreatedAt TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp = true),\n"
        "  TaskId STRING(36) NOT NULL HIDDEN,\n"
        "  Payload JSON NOT NULL HIDDEN\n"
        ") PRIMARY KEY (UserId, CreatedAt DESC, TaskId), INTERLEAVE IN PARENT Users ON DELETE CASCADE,"
        " ROW DELETION POLICY (OLDER_THAN(CreatedAt, INTERVAL 7 DAY)),"
        " OPTIONS (receive_mode = 'PULL', disable_send = false, locality_group = 'warm')"
    )


@pytest.mark.parametrize(
    ("payload", "written"),
    [
        (Bytes(), "BYTES(MAX)"),
        (Bytes(1024), "BYTES(1024)"),
        (Text(), "STRING(MAX)"),
        (Text(200), "STRING(200)"),
        (Json(), "JSON"),
        (Json(dict), "JSON"),
        (Proto(Timestamp), "google.protobuf.Timestamp"),
    ],
)
def test_payload_types(payload: Any, written: str) -> None:
    assert create(key(), payload=payload) == (
        f"CREATE QUEUE Tasks (\n  TaskId STRING(36) NOT NULL,\n  Payload {written} NOT NULL\n)"
        " PRIMARY KEY (TaskId)"
    )


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (BigInteger(), "INT64"),
        (String(), "STRING(MAX)"),
        (LargeBinary(16), "BYTES(16)"),
        (Boolean(), "BOOL"),
        (Date(), "DATE"),
        (Float(), "FLOAT64"),
        (Numeric(), "NUMERIC"),
        (TIMESTAMP(), "TIMESTAMP"),
    ],
)
def test_key_types(kind: Any, written: str) -> None:
    assert create(key("K", kind)) == (
        f"CREATE QUEUE Tasks (\n  K {written} NOT NULL,\n  Payload BYTES(MAX) NOT NULL\n) PRIMARY KEY (K)"
    )


def test_nullable_key_column() -> None:
    nullable = Column("Region", String(2), primary_key=True, nullable=True)
    assert create(nullable) == (
        "CREATE QUEUE Tasks (\n  Region STRING(2),\n  Payload BYTES(MAX) NOT NULL\n) PRIMARY KEY (Region)"
    )


@pytest.mark.parametrize("name", ["select", "Order", "Task-Events", "2nd"])
def test_names_that_need_quotes_get_them(name: str) -> None:
    assert create(key(name), name=name, descending=[name]) == (
        f"CREATE QUEUE `{name}` (\n"
        f"  `{name}` STRING(36) NOT NULL,\n"
        "  Payload BYTES(MAX) NOT NULL\n"
        f") PRIMARY KEY (`{name}` DESC)"
    )


def test_reserved_words_in_the_trailing_clauses() -> None:
    metadata = MetaData()
    Table("group", metadata, Column("order", TIMESTAMP, primary_key=True))
    queue = Queue(
        "Tasks",
        metadata,
        key("order", TIMESTAMP()),
        payload=Bytes(),
        interleave_in="group",
        row_deletion=("order", timedelta(days=1)),
    )
    assert text(CreateQueue(queue), GOOGLESQL).endswith(
        ") PRIMARY KEY (`order`), INTERLEAVE IN PARENT `group`,"
        " ROW DELETION POLICY (OLDER_THAN(`order`, INTERVAL 1 DAY))"
    )


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ({}, "INTERLEAVE IN PARENT Users"),
        ({"on_delete": "NO ACTION"}, "INTERLEAVE IN PARENT Users ON DELETE NO ACTION"),
        ({"on_delete": "CASCADE"}, "INTERLEAVE IN PARENT Users ON DELETE CASCADE"),
        ({"in_parent": False}, "INTERLEAVE IN Users"),
    ],
)
def test_interleaving(options: dict[str, Any], written: str) -> None:
    made = create(key("UserId"), interleave_in="Users", **options)
    assert made.endswith(f"\n) PRIMARY KEY (UserId), {written}")


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ({"disable_send": True}, "disable_send = true"),
        ({"disable_delivery": False}, "disable_delivery = false"),
        ({"locality_group": "it's \\ warm"}, r"locality_group = 'it\'s \\ warm'"),
        ({"disable_send": True, "receive_mode": "PULL"}, "disable_send = true, receive_mode = 'PULL'"),
    ],
)
def test_options(options: dict[str, Any], written: str) -> None:
    assert create(key(), options=options).endswith(f") PRIMARY KEY (TaskId), OPTIONS ({written})")


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        ("MOD(UserId, 16)", "MOD(UserId, 16)"),
        (func.lower(column("email")), "lower(email)"),
        (func.coalesce(column("email"), "a"), "coalesce(email, 'a')"),
    ],
)
def test_generated_key_columns_are_stored(expression: Any, written: str) -> None:
    made = create(key("Shard", String(8), Computed(expression, persisted=True)), hidden=["Shard"])
    assert f"\n  Shard STRING(8) NOT NULL AS ({written}) STORED HIDDEN,\n" in made


@pytest.mark.parametrize("literal", ["it's", "back\\slash", 'say """x"""', "end\\"])
def test_literals_in_a_generated_key_column_keep_their_value(literal: str) -> None:
    made = create(key("Shard", String(8), Computed(func.coalesce(column("a"), literal), persisted=True)))
    escaped = literal.replace("\\", "\\\\").replace("'", "\\'")
    assert f"AS (coalesce(a, '{escaped}')) STORED" in made


def test_the_deliver_time_is_never_declared() -> None:
    declared = Column("DeliverTime", TIMESTAMP(timezone=True))
    assert create(key(), declared) == create(key())


def test_if_not_exists_and_drop() -> None:
    queue = Queue("order", MetaData(), key(), payload=Bytes())
    assert text(CreateQueue(queue, if_not_exists=True), GOOGLESQL).startswith(
        "CREATE QUEUE IF NOT EXISTS `order` (\n"
    )
    assert text(DropQueue(queue), GOOGLESQL) == "DROP QUEUE `order`"
    assert text(DropQueue(queue, if_exists=True), GOOGLESQL) == "DROP QUEUE IF EXISTS `order`"
