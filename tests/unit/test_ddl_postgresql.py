"""CREATE QUEUE and DROP QUEUE as the documentation writes them for PostgreSQL-dialect databases."""

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
    DateTime,
    Double,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    column,
    func,
)

from sqlalchemy_spanner_queues import Bytes, CreateQueue, DropQueue, Json, Proto, Queue, Text
from tests.unit.dialects import POSTGRESQL, text


def create(*columns: Any, name: str = "tasks", payload: Any = None, **options: Any) -> str:
    queue = Queue(name, MetaData(), *columns, payload=payload or Bytes(), **options)
    return text(CreateQueue(queue), POSTGRESQL)


def key(name: str = "task_id", kind: Any = None, *args: Any) -> Column[Any]:
    return Column(name, kind or String(36), *args, primary_key=True)


def test_whole_text_of_a_queue_with_everything() -> None:
    metadata = MetaData()
    Table("users", metadata, Column("user_id", BigInteger, primary_key=True))
    queue = Queue(
        "user_tasks",
        metadata,
        key("user_id", BigInteger),
        key("created_at", TIMESTAMP(timezone=True)),
        key("task_id"),
        payload=Json(),
        interleave_in="users",
        on_delete="CASCADE",
        row_deletion=("created_at", timedelta(days=3)),
        options={"disable_send": False, "disable_delivery": True, "locality_group": "warm"},
        hidden=["task_id", "payload"],
    )
    assert text(CreateQueue(queue), POSTGRESQL) == (
        "CREATE QUEUE user_tasks (\n"
        "  user_id bigint NOT NULL,\n"
        "  created_at timestamptz NOT NULL,\n"
        "  task_id varchar(36) NOT NULL HIDDEN,\n"
        "  payload jsonb NOT NULL HIDDEN,\n"
        "  PRIMARY KEY (user_id, created_at, task_id)) INTERLEAVE IN PARENT users ON DELETE CASCADE"
        " TTL INTERVAL '3 days' ON created_at"
        " WITH (disable_send = false, disable_delivery = true, locality_group = 'warm')"
    )


@pytest.mark.parametrize(
    ("payload", "written"),
    [
        (Bytes(), "bytea"),
        (Bytes(1024), "bytea"),
        (Text(), "text"),
        (Text(200), "varchar(200)"),
        (Json(), "jsonb"),
        (Proto(Timestamp), "bytea"),
    ],
)
def test_payload_types(payload: Any, written: str) -> None:
    assert create(key(), payload=payload) == (
        "CREATE QUEUE tasks (\n"
        "  task_id varchar(36) NOT NULL,\n"
        f"  payload {written} NOT NULL,\n"
        "  PRIMARY KEY (task_id))"
    )


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (BigInteger(), "bigint"),
        (String(), "varchar"),
        (LargeBinary(16), "bytea"),
        (Boolean(), "boolean"),
        (Date(), "date"),
        (Double(), "double precision"),
        (Numeric(), "numeric"),
        (TIMESTAMP(), "timestamptz"),
        (DateTime(timezone=True), "timestamptz"),
    ],
)
def test_key_types(kind: Any, written: str) -> None:
    assert create(key("k", kind)) == (
        "CREATE QUEUE tasks (\n"
        f"  k {written} NOT NULL,\n"
        "  payload bytea NOT NULL,\n"
        "  PRIMARY KEY (k))"
    )  # fmt: skip


def test_nullable_key_column() -> None:
    nullable = Column("region", String(2), primary_key=True, nullable=True)
    assert create(nullable) == (
        "CREATE QUEUE tasks (\n  region varchar(2),\n  payload bytea NOT NULL,\n  PRIMARY KEY (region))"
    )


@pytest.mark.parametrize("name", ["select", "order", "Order", "Task-Events", "2nd"])
def test_names_that_need_quotes_get_them(name: str) -> None:
    assert create(key(name), name=name) == (
        f'CREATE QUEUE "{name}" (\n'
        f'  "{name}" varchar(36) NOT NULL,\n'
        "  payload bytea NOT NULL,\n"
        f'  PRIMARY KEY ("{name}"))'
    )


def test_reserved_words_in_the_trailing_clauses() -> None:
    made = create(key("order", TIMESTAMP()), interleave_in="Group", row_deletion=("order", timedelta(days=1)))
    assert made.endswith(
        """PRIMARY KEY ("order")) INTERLEAVE IN PARENT "Group" TTL INTERVAL '1 days' ON "order\""""
    )


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ({}, "INTERLEAVE IN PARENT users"),
        ({"on_delete": "NO ACTION"}, "INTERLEAVE IN PARENT users ON DELETE NO ACTION"),
        ({"on_delete": "CASCADE"}, "INTERLEAVE IN PARENT users ON DELETE CASCADE"),
        ({"in_parent": False}, "INTERLEAVE IN users"),
    ],
)
def test_interleaving(options: dict[str, Any], written: str) -> None:
    made = create(key("user_id"), interleave_in="users", **options)
    assert made.endswith(f"PRIMARY KEY (user_id)) {written}")


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ({"disable_send": True}, "disable_send = true"),
        ({"locality_group": "it's \\ warm"}, r"locality_group = 'it''s \ warm'"),
        ({"disable_send": True, "disable_delivery": False}, "disable_send = true, disable_delivery = false"),
    ],
)
def test_options(options: dict[str, Any], written: str) -> None:
    assert create(key(), options=options).endswith(f"PRIMARY KEY (task_id)) WITH ({written})")


def test_receive_mode_is_no_option_of_this_dialect() -> None:
    # The only mode there is: the same model serves both dialects, so it is left out, not refused.
    assert create(key(), options={"receive_mode": "PULL"}) == create(key())


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        ("mod(user_id, 16)", "mod(user_id, 16)"),
        (func.lower(column("email")), "lower(email)"),
        (func.coalesce(column("email"), "it's"), "coalesce(email, 'it''s')"),
        (func.coalesce(column("email"), "end\\"), "coalesce(email, 'end\\')"),
    ],
)
def test_generated_key_columns_are_stored(expression: Any, written: str) -> None:
    made = create(key("shard", String(8), Computed(expression, persisted=True)), hidden=["shard"])
    assert (
        f"\n  shard varchar(8) NOT NULL GENERATED ALWAYS AS ({written}) STORED HIDDEN,\n" in made
    )  # fmt: skip


def test_key_order_and_commit_timestamps_are_not_written() -> None:
    at = key("at", TIMESTAMP(timezone=True))
    assert create(at, descending=["at"], commit_timestamps=["at"]) == (
        "CREATE QUEUE tasks (\n"
        "  at timestamptz NOT NULL,\n"
        "  payload bytea NOT NULL,\n"
        "  PRIMARY KEY (at))"
    )  # fmt: skip


def test_the_deliver_time_is_never_declared() -> None:
    declared = Column("deliver_time", TIMESTAMP(timezone=True))
    assert create(key(), declared) == create(key())


def test_if_not_exists_and_drop() -> None:
    queue = Queue("UserTasks", MetaData(), key(), payload=Bytes())
    assert text(CreateQueue(queue, if_not_exists=True), POSTGRESQL).startswith(
        'CREATE QUEUE IF NOT EXISTS "UserTasks" (\n'
    )
    assert text(DropQueue(queue), POSTGRESQL) == 'DROP QUEUE "UserTasks"'
    assert text(DropQueue(queue, if_exists=True), POSTGRESQL) == 'DROP QUEUE IF EXISTS "UserTasks"'
