"""The same rules for models: a broken one is refused by the class statement."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import (
    TIMESTAMP,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    MetaData,
    String,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from sqlalchemy_spanner_queues import (
    Bytes,
    Json,
    QueueDefinitionError,
    QueueMessage,
    QueueOptions,
    message_key,
    payload_column,
)

# SQLAlchemy keeps a refused class in its table of names for strings, as long as its traceback lives.
pytestmark = pytest.mark.filterwarnings("ignore:This declarative base already contains")


def new_base() -> Any:
    class Base(DeclarativeBase):
        metadata = MetaData()

    return Base


def declare(base: Any, **body: Any) -> Any:
    """Declare a model of the queue Tasks with these additions to its body."""
    standard: dict[str, Any] = {
        "__tablename__": "Tasks",
        "task_id": message_key("TaskId"),
        "payload": payload_column(Bytes()),
        "__annotations__": {"task_id": Mapped[str], "payload": Mapped[bytes]},
    }
    return type("Task", (QueueMessage, base), {**standard, **body})


CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "extra column": ({"retries": mapped_column(BigInteger)}, "neither key nor payload", "primary_key=True"),
    "no payload": ({"payload": None, "__annotations__": {}}, "exactly one payload column", "payload_column"),
    "two payloads": ({"body": mapped_column("body", Json())}, "exactly one payload column", "payload_column"),
    "nullable payload": (
        {"payload": mapped_column("payload", Bytes(), nullable=True)},
        "NOT NULL",
        "nullable",
    ),
    "payload in the key": (
        {"payload": mapped_column("payload", Bytes(), primary_key=True)},
        "cannot be part of the key",
        "primary_key",
    ),
    "DEFAULT": ({"k": mapped_column(String(9), primary_key=True, server_default="x")}, "DEFAULT", "default="),
    "identity": ({"k": mapped_column(BigInteger, Identity(), primary_key=True)}, "IDENTITY", "value"),
    "foreign key": (
        {"k": mapped_column(BigInteger, ForeignKey("Users.Id"), primary_key=True)},
        "FOREIGN KEY",
        "interleave_in=",
    ),
    "index": ({"k": mapped_column(String(9), primary_key=True, index=True)}, "index", "no secondary indexes"),
    "table arguments": ({"__table_args__": (CheckConstraint("1 > 0"),)}, "CheckConstraint", "payload"),
    "index of the table": ({"__table_args__": (Index("by_id", "TaskId"),)}, "index", "no secondary indexes"),
    "schema": ({"__table_args__": {"schema": "app"}}, "named schema", "schema="),
    "reserved prefix": ({"k": mapped_column("spanner_k", String(9), primary_key=True)}, "spanner_", "rename"),
    "on_delete": (
        {"__queue__": QueueOptions(interleave_in="Users", on_delete="SET NULL")},
        "on_delete",
        "'CASCADE' or 'NO ACTION'",
    ),
    "row deletion": (
        {"__queue__": QueueOptions(row_deletion=("TaskId", timedelta(days=1)))},
        "no timestamp key column",
        "TIMESTAMP",
    ),
    "options": ({"__queue__": QueueOptions(options={"ttl": 1})}, "'ttl' is unknown", "disable_send"),
    "descending": ({"__queue__": QueueOptions(descending=["X"])}, "descending names 'X'", "TaskId"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "rule", "fix"), CASES.values(), ids=CASES.keys())
def test_a_broken_rule_is_named_and_leaves_nothing_behind(body: dict[str, Any], rule: str, fix: str) -> None:
    base = new_base()
    with pytest.raises(QueueDefinitionError) as caught:
        declare(base, **body)
    assert caught.value.queue == "Tasks"
    assert rule in caught.value.rule
    assert fix in caught.value.fix
    assert not base.metadata.tables
    corrected = declare(base)
    assert base.metadata.tables["Tasks"] is corrected.__table__
    assert corrected(payload=b"x").payload == b"x"


def test_a_key_that_is_not_the_parents_is_refused() -> None:
    base = new_base()

    class User(base):
        __tablename__ = "Users"
        user_id: Mapped[int] = mapped_column("UserId", BigInteger, primary_key=True)

    with pytest.raises(QueueDefinitionError, match="UserId"):
        declare(base, __queue__=QueueOptions(interleave_in=User))
    assert list(base.metadata.tables) == ["Users"]


def test_a_subclass_adds_no_column() -> None:
    base = new_base()
    task = declare(base, __mapper_args__={"polymorphic_on": "task_id", "polymorphic_identity": "task"})
    with pytest.raises(QueueDefinitionError, match="retries") as caught:
        type(
            "Retried",
            (task,),
            {
                "retries": mapped_column("retries", BigInteger, nullable=True),
                "__mapper_args__": {"polymorphic_identity": "retried"},
            },
        )
    assert caught.value.queue == "Tasks"
    assert "retries" not in task.__table__.c


def test_no_column_is_added_to_a_declared_class() -> None:
    task = declare(new_base())
    with pytest.raises(QueueDefinitionError, match="retries"):
        task.retries = mapped_column("retries", BigInteger)


def test_a_model_that_says_nothing_of_null_has_a_payload_that_is_not_null() -> None:
    class Task(QueueMessage, new_base()):
        __tablename__ = "Tasks"
        task_id: Mapped[str] = message_key()
        payload: Mapped[bytes | None] = payload_column(Bytes())

    assert not Task.__table__.c.payload.nullable


@pytest.mark.parametrize("name", [None, "DeliverTime", "deliver_time"])
def test_the_deliver_time_may_be_mapped(name: str | None) -> None:
    names = [name] if name else []

    class Task(QueueMessage, new_base()):
        __tablename__ = "Tasks"
        task_id: Mapped[str] = message_key()
        payload: Mapped[bytes] = payload_column(Bytes())
        deliver_time: Mapped[datetime] = mapped_column(*names, TIMESTAMP(timezone=True))

    assert [column.name for column in Task.__table__.c] == ["MessageId", "payload", "DeliverTime"]
    assert not Task.__table__.c["MessageId"].nullable
