"""The statements of a queue, as text in every dialect: send, acknowledge, purge, inspect."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import BigInteger, Column, MetaData, String, bindparam, func, literal, select

from sqlalchemy_spanner_queues import Bytes, Queue, UnsupportedDialect
from tests.unit.dialects import ALL, GOOGLESQL, MYSQL, POSTGRESQL, SPANNER, SQLITE, named, text

tasks = Queue(
    "tasks",
    MetaData(),
    Column("user_id", BigInteger, primary_key=True),
    Column("TaskId", String(36), primary_key=True),
    payload=Bytes(),
)
reserved = Queue("select", MetaData(), Column("order", BigInteger, primary_key=True), payload=Bytes())

SQLITE_NOW = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        (
            GOOGLESQL,
            (
                "INSERT INTO tasks (user_id, `TaskId`, payload, `DeliverTime`)"
                " VALUES (:user_id, :TaskId, :payload,"
                " CASE WHEN :deliver_time > 0 THEN TIMESTAMP_MICROS(:deliver_time)"
                " ELSE TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL :deliver_time MICROSECOND) END)"
            ),
        ),
        (
            POSTGRESQL,
            (
                'INSERT INTO tasks (user_id, "TaskId", payload, deliver_time)'
                " VALUES (%(user_id)s::BIGINT, %(TaskId)s::VARCHAR, %(payload)s,"
                " CASE WHEN %(deliver_time)s::BIGINT > 0"
                " THEN spanner.timestamptz_add(CAST('1970-01-01 00:00:00+00' AS timestamptz),"
                " CAST(%(deliver_time)s::BIGINT AS text) || ' microseconds')"
                " ELSE spanner.timestamptz_subtract(CURRENT_TIMESTAMP,"
                " CAST(%(deliver_time)s::BIGINT AS text) || ' microseconds') END)"
            ),
        ),
        (
            SQLITE,
            (
                'INSERT INTO tasks (user_id, "TaskId", payload, "DeliverTime") VALUES (?, ?, ?,'
                f" CASE WHEN ? > 0 THEN ? ELSE {SQLITE_NOW} - ? END)"
            ),
        ),
    ],
)
def test_a_send_is_an_insert(dialect: Any, written: str) -> None:
    assert text(tasks.insert(), dialect) == written


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        (GOOGLESQL, "INSERT INTO tasks (user_id, `TaskId`, payload) VALUES (:user_id, :TaskId, :payload)"),
        (
            POSTGRESQL,
            (
                'INSERT INTO tasks (user_id, "TaskId", payload)'
                " VALUES (%(user_id)s::BIGINT, %(TaskId)s::VARCHAR, %(payload)s)"
            ),
        ),
        (SQLITE, 'INSERT INTO tasks (user_id, "TaskId", payload) VALUES (?, ?, ?)'),
    ],
)
def test_a_send_without_a_deliver_time_leaves_it_to_the_database(dialect: Any, written: str) -> None:
    assert text(tasks.insert().values(user_id=1, TaskId="a", payload=b""), dialect) == written


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        (
            GOOGLESQL,
            (
                "DELETE FROM tasks WHERE tasks.user_id = :user_id_1 AND tasks.`TaskId` = :TaskId_1"
                " ASSERT_ROWS_MODIFIED 1"
            ),
        ),
        (
            POSTGRESQL,
            (
                "DELETE FROM tasks WHERE tasks.user_id = %(user_id_1)s::BIGINT"
                ' AND tasks."TaskId" = %(TaskId_1)s::VARCHAR ASSERT_ROWS_MODIFIED 1'
            ),
        ),
        (SQLITE, 'DELETE FROM tasks WHERE tasks.user_id = ? AND tasks."TaskId" = ?'),
    ],
)
def test_an_acknowledgment_is_a_guarded_delete(dialect: Any, written: str) -> None:
    statement = tasks.delete().where(tasks.c.user_id == 1, tasks.c.TaskId == "a")
    assert text(statement, dialect) == written


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        (GOOGLESQL, "DELETE FROM tasks WHERE tasks.user_id = :user_id_1"),
        (POSTGRESQL, "DELETE FROM tasks WHERE tasks.user_id = %(user_id_1)s::BIGINT"),
        (SQLITE, "DELETE FROM tasks WHERE tasks.user_id = ?"),
    ],
)
def test_a_plain_delete_purges_without_a_guard(dialect: Any, written: str) -> None:
    assert text(sqlalchemy.delete(tasks).where(tasks.c.user_id == 1), dialect) == written


def test_the_guard_stands_before_what_the_delete_returns() -> None:
    statement = tasks.delete().where(tasks.c.user_id == 1).returning(tasks.c.user_id)
    assert text(statement, GOOGLESQL) == (
        "DELETE FROM tasks WHERE tasks.user_id = :user_id_1 ASSERT_ROWS_MODIFIED 1 THEN RETURN user_id"
    )


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        (
            GOOGLESQL,
            (
                "SELECT tasks.user_id, tasks.`TaskId`, tasks.payload, tasks.`DeliverTime` \nFROM tasks"
                " ORDER BY tasks.`DeliverTime`"
            ),
        ),
        (
            POSTGRESQL,
            (
                'SELECT tasks.user_id, tasks."TaskId", tasks.payload, tasks.deliver_time \nFROM tasks'
                " ORDER BY tasks.deliver_time"
            ),
        ),
        (
            SQLITE,
            (
                'SELECT tasks.user_id, tasks."TaskId", tasks.payload, tasks."DeliverTime" \nFROM tasks'
                ' ORDER BY tasks."DeliverTime"'
            ),
        ),
    ],
)
def test_the_deliver_time_is_named_as_the_database_names_it(dialect: Any, written: str) -> None:
    assert text(select(tasks).order_by(tasks.c.deliver_time), dialect) == written


def test_postgresql_names_it_so_in_aliases_and_conditions_too() -> None:
    due = tasks.alias("due")
    statement = select(due.c.deliver_time.label("at")).where(
        due.c.deliver_time < datetime(2027, 1, 1, tzinfo=UTC)
    )
    assert text(statement, POSTGRESQL) == (
        "SELECT due.deliver_time AS at \nFROM tasks AS due"
        " \nWHERE due.deliver_time < %(deliver_time_1)s::TIMESTAMP WITH TIME ZONE"
    )


def test_postgresql_names_it_so_in_subqueries_and_ctes() -> None:
    inner = select(tasks.c.deliver_time).cte("inner_tasks")
    assert text(select(inner.c.deliver_time), POSTGRESQL) == (
        'WITH inner_tasks AS \n(SELECT tasks.deliver_time AS "DeliverTime" \nFROM tasks)\n'
        ' SELECT inner_tasks."DeliverTime" \nFROM inner_tasks'
    )
    renamed = tasks.alias("t")
    assert text(select(renamed.c.deliver_time), POSTGRESQL) == "SELECT t.deliver_time \nFROM tasks AS t"


@pytest.mark.parametrize("dialect", SPANNER, ids=named)
def test_a_payload_column_of_another_spelling_is_the_documented_one(dialect: Any) -> None:
    queue = Queue(
        "tasks",
        MetaData(),
        Column("k", BigInteger, primary_key=True),
        Column("Payload", Bytes(), nullable=False),
    )
    assert "tasks.payload" in text(select(queue), dialect)
    assert "(k, payload)" in text(queue.insert().values(k=1, Payload=b""), dialect)


def test_reserved_words_are_quoted() -> None:
    statement = reserved.delete().where(reserved.c.order == 1)
    assert text(statement, GOOGLESQL) == (
        "DELETE FROM `select` WHERE `select`.`order` = :order_1 ASSERT_ROWS_MODIFIED 1"
    )
    assert text(statement, POSTGRESQL) == (
        'DELETE FROM "select" WHERE "select"."order" = %(order_1)s::BIGINT ASSERT_ROWS_MODIFIED 1'
    )


def test_an_insert_takes_its_rows_from_a_select() -> None:
    rows = select(literal(1, BigInteger), literal("a"), tasks.c.payload)
    made = text(tasks.insert().from_select(["user_id", "TaskId", "payload"], rows), GOOGLESQL)
    assert made.startswith("INSERT INTO tasks (user_id, `TaskId`, payload) SELECT ")


@pytest.mark.parametrize("dialect", ALL, ids=named)
@pytest.mark.parametrize(
    "statement",
    [
        tasks.insert(),
        tasks.delete().where(tasks.c.user_id == bindparam("u")),
        select(tasks).where(tasks.c.deliver_time > func.now()),
    ],
    ids=["insert", "delete", "select"],
)
def test_compiling_twice_gives_the_same_text(dialect: Any, statement: Any) -> None:
    assert text(statement, dialect) == text(statement, dialect)


@pytest.mark.parametrize(
    "statement",
    [tasks.insert(), tasks.delete().where(tasks.c.user_id == 1), select(tasks)],
    ids=["insert", "delete", "select"],
)
def test_another_database_gets_a_plain_error(statement: Any) -> None:
    with pytest.raises(UnsupportedDialect, match="mysql"):
        text(statement, MYSQL)


def test_guarded_and_plain_deletes_have_different_cache_keys() -> None:
    guarded = tasks.delete().where(tasks.c.user_id == 1)._generate_cache_key()
    plain = sqlalchemy.delete(tasks).where(tasks.c.user_id == 1)._generate_cache_key()
    assert guarded is not None
    assert guarded != plain
    assert guarded == tasks.delete().where(tasks.c.user_id == 2)._generate_cache_key()
