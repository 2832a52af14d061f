"""The rules of CREATE QUEUE for columns: each broken one is refused where the queue is declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import (
    ARRAY,
    JSON,
    TIMESTAMP,
    BigInteger,
    CheckConstraint,
    Column,
    Computed,
    Enum,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    UniqueConstraint,
    text,
)

from sqlalchemy_spanner_queues import Bytes, Queue, QueueDefinitionError
from sqlalchemy_spanner_queues import Text as TextPayload

# Each: the declared items, the payload= argument, words of the rule, words of the fix.
Case = tuple[Callable[[], list[Any]], Any, str, str]


def key(name: str = "k", kind: Any = None, *args: Any, **kw: Any) -> Column[Any]:
    return Column(name, kind or String(36), *args, primary_key=True, **kw)


def payload(*args: Any, **kw: Any) -> Column[Any]:
    kw.setdefault("nullable", False)
    return Column("payload", Bytes(), *args, **kw)


CASES: dict[str, Case] = {
    "extra column": (
        lambda: [key(), Column("retries", BigInteger)],
        Bytes(),
        "'retries' is neither key nor payload",
        "primary_key=True",
    ),
    "no key": (list, Bytes(), "at least one key column", "message_key"),
    "no payload": (lambda: [key()], None, "exactly one payload column, not 0", "payload_column"),
    "two payloads": (
        lambda: [key(), payload()],
        TextPayload(),
        "exactly one payload column, not 2",
        "payload_column",
    ),
    "second payload of another name": (
        lambda: [key(), payload(), Column("body", Bytes(), nullable=False)],
        None,
        "exactly one payload column, not 2",
        "payload_column",
    ),
    "payload of another name": (
        lambda: [key(), Column("body", Bytes(), nullable=False)],
        None,
        "named Payload, not 'body'",
        "payload_column",
    ),
    "payload of another type": (
        lambda: [key(), Column("payload", LargeBinary, nullable=False)],
        None,
        "LargeBinary",
        "Bytes(), Text(), Json(...) or Proto(...)",
    ),
    "nullable payload": (
        lambda: [key(), payload(nullable=True)],
        None,
        "NOT NULL",
        "nullable=True",
    ),
    "payload in the key": (
        lambda: [key(), payload(primary_key=True)],
        None,
        "cannot be part of the key",
        "primary_key=True",
    ),
    "generated payload": (
        lambda: [key(), payload(Computed("k", persisted=True))],
        None,
        "payload",
        "",
    ),
    "payload with a DEFAULT": (lambda: [key(), payload(server_default="x")], None, "DEFAULT", "default="),
    "key with a DEFAULT": (
        lambda: [key(server_default=text("GENERATE_UUID()"))],
        Bytes(),
        "'k' has a DEFAULT",
        "default=",
    ),
    "identity": (lambda: [key("k", BigInteger, Identity())], Bytes(), "'k' is an IDENTITY", "value"),
    "autoincrement": (
        lambda: [key("k", BigInteger, autoincrement=True)],
        Bytes(),
        "'k' is an IDENTITY",
        "value",
    ),
    "foreign key": (
        lambda: [key("k", BigInteger, ForeignKey("Users.UserId"))],
        Bytes(),
        "FOREIGN KEY",
        "interleave_in=",
    ),
    "foreign key constraint": (
        lambda: [key("k", BigInteger), ForeignKeyConstraint(["k"], ["Users.UserId"])],
        Bytes(),
        "FOREIGN KEY",
        "interleave_in=",
    ),
    "check": (lambda: [key(), CheckConstraint("k > 0")], Bytes(), "CheckConstraint", ""),
    "check of a type": (
        lambda: [key("k", Enum("a", "b", name="kinds", create_constraint=True))],
        Bytes(),
        "CheckConstraint",
        "",
    ),
    "unique constraint": (lambda: [key(), UniqueConstraint("k")], Bytes(), "UniqueConstraint", ""),
    "unique column": (lambda: [key(unique=True)], Bytes(), "index", "no secondary indexes"),
    "indexed column": (lambda: [key(index=True)], Bytes(), "index", "no secondary indexes"),
    "index": (lambda: [key(), Index("by_k", "k")], Bytes(), "index", "no secondary indexes"),
    "generated key that is not stored": (
        lambda: [key("k", BigInteger, Computed("1"))],
        Bytes(),
        "not STORED",
        "persisted=True",
    ),
    "virtual generated key": (
        lambda: [key("k", BigInteger, Computed("1", persisted=False))],
        Bytes(),
        "not STORED",
        "persisted=True",
    ),
    "reserved prefix": (lambda: [key("spanner_id")], Bytes(), "starts with 'spanner_'", "rename"),
    "reserved prefix in capitals": (lambda: [key("Spanner_Id")], Bytes(), "starts with 'spanner", "rename"),
    "system column in the key": (
        lambda: [key(), key("DeliverTime", TIMESTAMP())],
        Bytes(),
        "DeliverTime",
        "",
    ),
    "JSON key": (lambda: [key("k", JSON)], Bytes(), "JSON", ""),
    "ARRAY key": (lambda: [key("k", ARRAY(String))], Bytes(), "ARRAY", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_broken_rule_is_named_with_its_fix(case: Case) -> None:
    make, payload_type, rule, fix = case
    with pytest.raises(QueueDefinitionError) as caught:
        Queue("Tasks", MetaData(), *make(), payload=payload_type)
    assert caught.value.queue == "Tasks"
    assert rule.lower() in caught.value.rule.lower()
    assert fix in caught.value.fix
    assert caught.value.fix
    assert str(caught.value) == f"queue 'Tasks': {caught.value.rule}; {caught.value.fix}"


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_refused_queue_leaves_its_name_free(case: Case) -> None:
    make, payload_type, _rule, _fix = case
    metadata = MetaData()
    with pytest.raises(QueueDefinitionError):
        Queue("Tasks", metadata, *make(), payload=payload_type)
    assert not metadata.tables
    corrected = Queue("Tasks", metadata, key(), payload=Bytes())
    assert metadata.tables["Tasks"] is corrected


@pytest.mark.parametrize(
    ("metadata", "options"),
    [(MetaData(), {"schema": "app"}), (MetaData(schema="app"), {})],
    ids=["schema=", "MetaData(schema=)"],
)
def test_no_named_schema(metadata: MetaData, options: dict[str, Any]) -> None:
    with pytest.raises(QueueDefinitionError, match="named schema") as caught:
        Queue("Tasks", metadata, key(), payload=Bytes(), **options)
    assert "schema" in caught.value.fix
    assert not metadata.tables


@pytest.mark.parametrize("length", [0, -1])
@pytest.mark.parametrize("payload_type", [Bytes, TextPayload])
def test_a_payload_of_no_length_is_refused(payload_type: Any, length: int) -> None:
    with pytest.raises((QueueDefinitionError, ValueError)):
        Queue("Tasks", MetaData(), key(), payload=payload_type(length))


def test_columns_cannot_be_added_later() -> None:
    queue = Queue("Tasks", MetaData(), key(), payload=Bytes())
    with pytest.raises(QueueDefinitionError, match="retries"):
        queue.append_column(Column("retries", BigInteger))
    assert "retries" not in queue.c


@pytest.mark.parametrize(
    "items",
    [
        lambda: [key()],
        lambda: [key("k", String(36), default="x")],
        lambda: [Column("k", String(36), primary_key=True, nullable=True)],
        lambda: [key(), PrimaryKeyConstraint("k")],
        lambda: [key(), Column("deliver_time", TIMESTAMP(timezone=True))],
        lambda: [key(), Column("DeliverTime", TIMESTAMP(timezone=True), nullable=False)],
        lambda: [key(), key("kind", Enum("a", "b", name="kinds"))],
        lambda: [key("k", String(36), comment="what it is for")],
    ],
)
def test_what_the_rules_allow(items: Callable[[], list[Any]]) -> None:
    queue = Queue("Tasks", MetaData(), *items(), payload=Bytes())
    assert [column.name for column in queue.c][-2:] == ["payload", "DeliverTime"]
