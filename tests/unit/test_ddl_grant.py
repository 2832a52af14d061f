"""GRANT and REVOKE for queues and the functions that receive and renew, in both dialects of Spanner."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Column, MetaData, String

from sqlalchemy_spanner_queues import Bytes, GrantQueue, Queue, RevokeQueue, UnsupportedDialect
from tests.unit.dialects import GOOGLESQL, MYSQL, POSTGRESQL, SQLITE, text


def queue_named(name: str) -> Queue:
    return Queue(name, MetaData(), Column("TaskId", String(36), primary_key=True), payload=Bytes())


GOOGLESQL_OBJECTS = [
    ("send", ["INSERT ON QUEUE Tasks"]),
    ("acknowledge", ["DELETE ON QUEUE Tasks"]),
    ("inspect", ["SELECT ON QUEUE Tasks"]),
    (
        "receive",
        ["EXECUTE ON TABLE FUNCTION RECEIVE_Tasks", "EXECUTE ON TABLE FUNCTION RENEWLEASE_Tasks"],
    ),
]

POSTGRESQL_OBJECTS = [
    ("send", ["INSERT ON QUEUE tasks"]),
    ("acknowledge", ["DELETE ON QUEUE tasks"]),
    ("inspect", ["SELECT ON QUEUE tasks"]),
    (
        "receive",
        ["EXECUTE ON FUNCTION spanner.receive_tasks", "EXECUTE ON FUNCTION spanner.renewlease_tasks"],
    ),
]


@pytest.mark.parametrize(("privilege", "objects"), GOOGLESQL_OBJECTS)
def test_googlesql(privilege: Any, objects: list[str]) -> None:
    queue = queue_named("Tasks")
    granted = text(GrantQueue(queue, "worker", privilege), GOOGLESQL).split(";\n")
    assert granted == [f"GRANT {what} TO ROLE worker" for what in objects]
    revoked = text(RevokeQueue(queue, "worker", privilege), GOOGLESQL).split(";\n")
    assert revoked == [f"REVOKE {what} FROM ROLE worker" for what in objects]


@pytest.mark.parametrize(("privilege", "objects"), POSTGRESQL_OBJECTS)
def test_postgresql(privilege: Any, objects: list[str]) -> None:
    queue = queue_named("tasks")
    granted = text(GrantQueue(queue, "worker", privilege), POSTGRESQL).split(";\n")
    assert granted == [f"GRANT {what} TO worker" for what in objects]
    revoked = text(RevokeQueue(queue, "worker", privilege), POSTGRESQL).split(";\n")
    assert revoked == [f"REVOKE {what} FROM worker" for what in objects]


def test_several_privileges_are_several_statements() -> None:
    element = GrantQueue(queue_named("Tasks"), "worker", "receive", "acknowledge")
    assert text(element, GOOGLESQL) == (
        "GRANT DELETE ON QUEUE Tasks TO ROLE worker;\n"
        "GRANT EXECUTE ON TABLE FUNCTION RECEIVE_Tasks TO ROLE worker;\n"
        "GRANT EXECUTE ON TABLE FUNCTION RENEWLEASE_Tasks TO ROLE worker"
    )


def test_a_reserved_word_is_quoted_where_it_stands_alone() -> None:
    element = GrantQueue(queue_named("order"), "group", "send", "receive")
    assert text(element, GOOGLESQL) == (
        "GRANT INSERT ON QUEUE `order` TO ROLE `group`;\n"
        "GRANT EXECUTE ON TABLE FUNCTION RECEIVE_order TO ROLE `group`;\n"
        "GRANT EXECUTE ON TABLE FUNCTION RENEWLEASE_order TO ROLE `group`"
    )
    assert text(element, POSTGRESQL) == (
        'GRANT INSERT ON QUEUE "order" TO "group";\n'
        'GRANT EXECUTE ON FUNCTION spanner.receive_order TO "group";\n'
        'GRANT EXECUTE ON FUNCTION spanner.renewlease_order TO "group"'
    )


@pytest.mark.parametrize(
    ("name", "googlesql", "postgresql"),
    [
        ("Task-Events", "`RECEIVE_Task-Events`", 'spanner."receive_Task-Events"'),
        ("UserTasks", "RECEIVE_UserTasks", 'spanner."receive_UserTasks"'),
    ],
)
def test_function_names_are_quoted_as_a_whole(name: str, googlesql: str, postgresql: str) -> None:
    element = GrantQueue(queue_named(name), "worker", "receive")
    assert text(element, GOOGLESQL).startswith(f"GRANT EXECUTE ON TABLE FUNCTION {googlesql} TO ROLE worker;")
    assert text(element, POSTGRESQL).startswith(f"GRANT EXECUTE ON FUNCTION {postgresql} TO worker;")


@pytest.mark.parametrize("element", [GrantQueue, RevokeQueue])
@pytest.mark.parametrize("privileges", [(), ("update",), ("send", "INSERT")])
def test_privileges_are_named_in_the_words_of_queues(element: Any, privileges: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="send, acknowledge, inspect, receive"):
        element(queue_named("Tasks"), "worker", *privileges)


@pytest.mark.parametrize("element", [GrantQueue, RevokeQueue])
@pytest.mark.parametrize("dialect", [MYSQL, SQLITE], ids=["mysql", "sqlite"])
def test_other_databases_grant_nothing(element: Any, dialect: Any) -> None:
    with pytest.raises(UnsupportedDialect, match="GRANT") as caught:
        text(element(queue_named("Tasks"), "worker", "send"), dialect)
    assert caught.value.dialect == dialect.name
