"""ALTER QUEUE: every change of GoogleSQL, the one of PostgreSQL, and what cannot be asked for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import TIMESTAMP, Column, MetaData, String

from sqlalchemy_spanner_queues import (
    AlterQueue,
    Bytes,
    CreateQueue,
    DropQueue,
    Queue,
    SpannerQueuesError,
    UnsupportedDialect,
)
from tests.unit.dialects import GOOGLESQL, MYSQL, POSTGRESQL, SQLITE, text

WEEK = timedelta(days=7)


def queue_named(name: str = "Tasks") -> Queue:
    return Queue(
        name,
        MetaData(),
        Column("UserId", String(36), primary_key=True),
        Column("CreatedAt", TIMESTAMP(timezone=True), primary_key=True),
        payload=Bytes(),
    )


@pytest.mark.parametrize(
    ("change", "written"),
    [
        ({"options": {"disable_send": True}}, "SET OPTIONS (disable_send = true)"),
        ({"options": {"disable_send": None}}, "SET OPTIONS (disable_send = NULL)"),
        (
            {"options": {"disable_delivery": False, "locality_group": "cold"}},
            "SET OPTIONS (disable_delivery = false, locality_group = 'cold')",
        ),
        ({"on_delete": "CASCADE"}, "SET ON DELETE CASCADE"),
        ({"on_delete": "NO ACTION"}, "SET ON DELETE NO ACTION"),
        ({"interleave_in": "Users"}, "SET INTERLEAVE IN PARENT Users"),
        ({"interleave_in": "Users", "in_parent": False}, "SET INTERLEAVE IN Users"),
        (
            {"interleave_in": "group", "on_delete": "CASCADE"},
            "SET INTERLEAVE IN PARENT `group` ON DELETE CASCADE",
        ),
        (
            {"add_row_deletion": ("CreatedAt", WEEK)},
            "ADD ROW DELETION POLICY (OLDER_THAN(CreatedAt, INTERVAL 7 DAY))",
        ),
        (
            {"replace_row_deletion": ("CreatedAt", timedelta(days=30))},
            "REPLACE ROW DELETION POLICY (OLDER_THAN(CreatedAt, INTERVAL 30 DAY))",
        ),
        ({"drop_row_deletion": True}, "DROP ROW DELETION POLICY"),
    ],
)
def test_googlesql_writes_every_change(change: dict[str, Any], written: str) -> None:
    assert text(AlterQueue(queue_named(), **change), GOOGLESQL) == f"ALTER QUEUE Tasks {written}"


def test_reserved_words_are_quoted() -> None:
    change = {"disable_send": True}
    assert text(AlterQueue(queue_named("order"), options=change), GOOGLESQL) == (
        "ALTER QUEUE `order` SET OPTIONS (disable_send = true)"
    )
    assert text(AlterQueue(queue_named("order"), options=change), POSTGRESQL) == (
        'ALTER QUEUE "order" SET OPTIONS (disable_send = true)'
    )


def test_postgresql_sets_options() -> None:
    change = {"disable_send": False, "locality_group": "it's"}
    assert text(AlterQueue(queue_named("tasks"), options=change), POSTGRESQL) == (
        "ALTER QUEUE tasks SET OPTIONS (disable_send = false, locality_group = 'it''s')"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"receive_mode": "PULL"}},
        {"on_delete": "CASCADE"},
        {"interleave_in": "Users"},
        {"add_row_deletion": ("CreatedAt", WEEK)},
        {"replace_row_deletion": ("CreatedAt", WEEK)},
        {"drop_row_deletion": True},
    ],
)
def test_postgresql_alters_nothing_else(change: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedDialect) as caught:
        text(AlterQueue(queue_named(), **change), POSTGRESQL)
    assert caught.value.dialect == "postgresql"


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"drop_row_deletion": False},
        {"on_delete": "CASCADE", "drop_row_deletion": True},
        {"options": {"disable_send": True}, "interleave_in": "Users"},
        {"add_row_deletion": ("CreatedAt", WEEK), "replace_row_deletion": ("CreatedAt", WEEK)},
    ],
)
def test_exactly_one_change_is_asked_for(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="exactly one change"):
        AlterQueue(queue_named(), **change)


@pytest.mark.parametrize(
    "change",
    [
        {"options": {}},
        {"options": {"disable_everything": True}},
        {"options": {"disable_send": "yes"}},
        {"options": {"locality_group": 5}},
        {"on_delete": "SET NULL"},
        {"interleave_in": "Users", "on_delete": "RESTRICT"},
        {"add_row_deletion": ("Nowhere", WEEK)},
        {"add_row_deletion": ("UserId", WEEK)},
        {"replace_row_deletion": ("CreatedAt", timedelta(hours=36))},
        {"replace_row_deletion": ("CreatedAt", timedelta(days=-1))},
    ],
)
def test_the_rules_of_the_clauses_hold_for_changes_too(change: dict[str, Any]) -> None:
    with pytest.raises((SpannerQueuesError, ValueError)):
        AlterQueue(queue_named(), **change)


@pytest.mark.parametrize("dialect", [MYSQL, SQLITE], ids=["mysql", "sqlite"])
def test_other_databases_alter_no_queue(dialect: Any) -> None:
    with pytest.raises(UnsupportedDialect, match="ALTER QUEUE") as caught:
        text(AlterQueue(queue_named(), options={"disable_send": True}), dialect)
    assert caught.value.dialect == dialect.name


@pytest.mark.parametrize(
    ("element", "doing"), [(CreateQueue, "CREATE QUEUE"), (DropQueue, "DROP QUEUE")], ids=str
)
def test_other_databases_have_no_queues(element: Any, doing: str) -> None:
    with pytest.raises(UnsupportedDialect, match="mysql") as caught:
        text(element(queue_named()), MYSQL)
    assert caught.value.doing == doing


@pytest.mark.parametrize("element", [CreateQueue, DropQueue])
def test_a_plain_table_is_no_queue(element: Any) -> None:
    from sqlalchemy import Table

    with pytest.raises(TypeError, match="not a queue"):
        text(element(Table("Users", MetaData(), Column("Id", String(36), primary_key=True))), GOOGLESQL)
