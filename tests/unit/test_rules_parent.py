"""The key of an interleaved queue begins with its parent's key, column by column."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    DateTime,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    Uuid,
)
from sqlalchemy.types import TypeDecorator

from sqlalchemy_spanner_queues import Bytes, Queue, QueueDefinitionError


class UserId(TypeDecorator[str]):
    impl = String(36)
    cache_ok = True


def key(name: str, kind: Any, **kw: Any) -> Column[Any]:
    return Column(name, kind, primary_key=True, **kw)


def parent(metadata: MetaData) -> Table:
    return Table("Users", metadata, key("Region", String(2)), key("UserId", BigInteger))


def queue_of(metadata: MetaData, *keys: Column[Any], parent: Any = "Users") -> Queue:
    return Queue("Tasks", metadata, *keys, payload=Bytes(), interleave_in=parent)


MISMATCHES: dict[str, tuple[list[tuple[str, Any, dict[str, Any]]], str]] = {
    "name": ([("Area", String(2), {}), ("UserId", BigInteger, {})], "Area"),
    "letter case of the name": ([("REGION", String(2), {}), ("UserId", BigInteger, {})], "REGION"),
    "type": ([("Region", String(2), {}), ("UserId", String(2), {})], "type"),
    "length": ([("Region", String(3), {}), ("UserId", BigInteger, {})], "length"),
    "no length": ([("Region", String(), {}), ("UserId", BigInteger, {})], "length"),
    "order": ([("UserId", BigInteger, {}), ("Region", String(2), {})], "UserId"),
    "position": (
        [("TaskId", String(36), {}), ("Region", String(2), {}), ("UserId", BigInteger, {})],
        "TaskId",
    ),
    "nullability": ([("Region", String(2), {"nullable": True}), ("UserId", BigInteger, {})], "nullability"),
    "count": ([("Region", String(2), {})], "does not begin with the key of 'Users'"),
}


def columns(keys: list[tuple[str, Any, dict[str, Any]]]) -> list[Column[Any]]:
    return [key(name, kind, **kw) for name, kind, kw in keys]


@pytest.mark.parametrize(("keys", "rule"), MISMATCHES.values(), ids=MISMATCHES.keys())
def test_a_key_that_differs_is_refused(keys: list[tuple[str, Any, dict[str, Any]]], rule: str) -> None:
    metadata = MetaData()
    users = parent(metadata)
    with pytest.raises(QueueDefinitionError) as caught:
        queue_of(metadata, *columns(keys))
    assert caught.value.queue == "Tasks"
    assert rule in caught.value.rule
    assert "begin the key with Region, UserId" in caught.value.fix
    assert list(metadata.tables) == ["Users"]
    corrected = queue_of(metadata, key("Region", String(2)), key("UserId", BigInteger), parent=users)
    assert metadata.tables["Tasks"] is corrected


@pytest.mark.parametrize(("keys", "rule"), MISMATCHES.values(), ids=MISMATCHES.keys())
def test_the_parent_may_be_declared_later(keys: list[tuple[str, Any, dict[str, Any]]], rule: str) -> None:
    metadata = MetaData()
    queue_of(metadata, *columns(keys))
    with pytest.raises(QueueDefinitionError) as caught:
        parent(metadata)
    assert caught.value.queue == "Tasks"
    assert rule in caught.value.rule


def test_a_parent_corrected_after_the_error_is_tied_to_the_queue() -> None:
    metadata = MetaData()
    queue = queue_of(metadata, key("UserId", BigInteger))
    with pytest.raises(QueueDefinitionError):
        Table("Users", metadata, key("UserId", String(36)))
    assert list(metadata.tables) == ["Tasks"]
    users = Table("Users", metadata, key("UserId", BigInteger))
    assert metadata.sorted_tables == [users, queue]


def test_a_parent_without_a_key_is_refused() -> None:
    metadata = MetaData()
    Table("Users", metadata, Column("UserId", BigInteger))
    with pytest.raises(QueueDefinitionError, match="'Users'"):
        queue_of(metadata, key("UserId", BigInteger))


def test_a_parent_that_is_a_queue_gives_its_direction_too() -> None:
    metadata = MetaData()
    first = Queue("Jobs", metadata, key("At", Date), payload=Bytes(), descending=["At"])
    with pytest.raises(QueueDefinitionError, match="At"):
        queue_of(metadata, key("At", Date), key("TaskId", String(36)), parent=first)
    second = Queue(
        "Tasks", metadata, key("At", Date), payload=Bytes(), descending=["At"], interleave_in=first
    )
    assert metadata.sorted_tables == [first, second]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (BigInteger(), BigInteger()),
        (Integer(), BigInteger()),
        (String(36), String(36)),
        (String(), String()),
        (UserId(), UserId()),
        (UserId(), String(36)),
        (LargeBinary(16), LargeBinary(16)),
        (DateTime(timezone=True), DateTime(timezone=True)),
        (Numeric(), Numeric()),
        (Uuid(), Uuid()),
        (Uuid(), Uuid(as_uuid=False)),
    ],
    ids=repr,
)
def test_types_that_are_the_same_to_the_database_fit(theirs: Any, ours: Any) -> None:
    metadata = MetaData()
    users = Table("Users", metadata, key("UserId", theirs))
    queue = queue_of(metadata, key("UserId", ours), key("TaskId", String(36)))
    assert metadata.sorted_tables == [users, queue]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (UserId(), String(40)),
        (UserId(), BigInteger()),
        (Date(), DateTime()),
        (LargeBinary(16), LargeBinary(20)),
        (String(16), LargeBinary(16)),
    ],
    ids=repr,
)
def test_types_that_differ_to_the_database_do_not_fit(theirs: Any, ours: Any) -> None:
    metadata = MetaData()
    Table("Users", metadata, key("UserId", theirs))
    with pytest.raises(QueueDefinitionError, match="UserId"):
        queue_of(metadata, key("UserId", ours))


def test_a_parent_that_is_never_declared_is_taken_as_it_is_named() -> None:
    metadata = MetaData()
    queue = queue_of(metadata, key("UserId", BigInteger))
    assert metadata.sorted_tables == [queue]


def test_a_parent_that_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError, match="neither a queue nor a class mapped"):
        queue_of(MetaData(), key("UserId", BigInteger), parent=object())
