"""receive() and renew_lease() as text in both dialects of Spanner."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import BigInteger, Column, MetaData, String, Table, select
from sqlalchemy.orm import DeclarativeBase, Mapped

from sqlalchemy_spanner_queues import (
    Bytes,
    Json,
    Queue,
    QueueMessage,
    UnsupportedDialect,
    message_key,
    payload_column,
    receive,
    renew_lease,
)
from tests.unit.dialects import GOOGLESQL, MYSQL, POSTGRESQL, SPANNER, SQLITE, named, text

tasks = Queue(
    "UserTasks",
    MetaData(),
    Column("UserId", BigInteger, primary_key=True),
    Column("task_id", String(36), primary_key=True),
    payload=Json(),
)
lower = Queue("tasks", MetaData(), Column("k", BigInteger, primary_key=True), payload=Bytes())
odd = Queue("Task-Events", MetaData(), Column("k", BigInteger, primary_key=True), payload=Bytes())
reserved = Queue("order", MetaData(), Column("k", BigInteger, primary_key=True), payload=Bytes())

TWENTY_MINUTES = timedelta(minutes=20)


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        (
            GOOGLESQL,
            (
                "SELECT messages.`UserId`, messages.task_id, messages.payload, messages.`DeliverTime`,"
                " messages.`SpannerLeaseExpirationTimestamp`, messages.`SpannerLeaseToken`,"
                " messages.`SpannerLastBatchMessage` \n"
                "FROM RECEIVE_UserTasks(max_batch_size => 20, priority => 1, max_duration => '20m')"
                " AS messages"
            ),
        ),
        (
            POSTGRESQL,
            (
                'SELECT messages."UserId", messages.task_id, messages.payload, messages.deliver_time,'
                " messages.spanner_lease_expiration_timestamp, messages.spanner_lease_token,"
                " messages.spanner_last_batch_message \n"
                'FROM spanner."receive_UserTasks"'
                "(max_batch_size => 20, priority => 1, max_duration => '20m') AS messages"
            ),
        ),
    ],
)
def test_receive_with_all_arguments(dialect: Any, written: str) -> None:
    messages = receive(tasks, max_batch_size=20, max_duration=TWENTY_MINUTES, priority=1)
    assert text(select(messages), dialect) == written


def test_every_argument_can_be_left_out() -> None:
    statement = select(receive(lower).c.k)
    assert text(statement, GOOGLESQL) == "SELECT messages.k \nFROM RECEIVE_tasks() AS messages"
    assert text(statement, POSTGRESQL) == (
        "SELECT messages.k \nFROM spanner.receive_tasks"
        "(max_batch_size => NULL, priority => NULL, max_duration => NULL) AS messages"
    )


@pytest.mark.parametrize(
    ("arguments", "googlesql", "postgresql"),
    [
        ({"max_batch_size": 1}, "max_batch_size => 1", "1|NULL|NULL"),
        ({"priority": "HIGH"}, "priority => 'HIGH'", "NULL|'HIGH'|NULL"),
        ({"priority": "it's"}, r"priority => 'it\'s'", "NULL|'it''s'|NULL"),
        ({"priority": 0}, "priority => 0", "NULL|0|NULL"),
        ({"max_duration": timedelta(seconds=90)}, "max_duration => '90s'", "NULL|NULL|'90s'"),
        ({"max_duration": timedelta(seconds=1)}, "max_duration => '1s'", "NULL|NULL|'1s'"),
        ({"max_duration": timedelta(hours=1)}, "max_duration => '60m'", "NULL|NULL|'60m'"),
    ],
)
def test_each_argument_alone(arguments: dict[str, Any], googlesql: str, postgresql: str) -> None:
    statement = select(receive(lower, **arguments).c.k)
    assert text(statement, GOOGLESQL).endswith(f"FROM RECEIVE_tasks({googlesql}) AS messages")
    batch, priority, duration = postgresql.split("|")
    assert text(statement, POSTGRESQL).endswith(
        f"(max_batch_size => {batch}, priority => {priority}, max_duration => {duration}) AS messages"
    )


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"max_batch_size": 0}, "max_batch_size"),
        ({"max_batch_size": -1}, "max_batch_size"),
        ({"max_duration": timedelta(0)}, "max_duration"),
        ({"max_duration": timedelta(milliseconds=999)}, "max_duration"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        receive(tasks, **arguments)


@pytest.mark.parametrize(
    ("queue", "googlesql", "postgresql"),
    [
        (lower, "RECEIVE_tasks", "spanner.receive_tasks"),
        (tasks, "RECEIVE_UserTasks", 'spanner."receive_UserTasks"'),
        (odd, "`RECEIVE_Task-Events`", 'spanner."receive_Task-Events"'),
        (reserved, "RECEIVE_order", "spanner.receive_order"),
    ],
    ids=["plain", "capitals", "odd", "reserved"],
)
def test_function_names_are_quoted_as_a_whole(queue: Queue, googlesql: str, postgresql: str) -> None:
    column = next(iter(receive(queue).c))
    assert f"FROM {googlesql}(" in text(select(column), GOOGLESQL)
    assert f"FROM {postgresql}(" in text(select(column), POSTGRESQL)
    renewed = select(renew_lease(queue, ["t"]).c.new_lease_token)
    assert f"FROM {googlesql.replace('RECEIVE', 'RENEWLEASE')}(" in text(renewed, GOOGLESQL)
    assert f"FROM {postgresql.replace('receive', 'renewlease')}(" in text(renewed, POSTGRESQL)


def test_conditions_projections_and_an_alias() -> None:
    messages = receive(lower).alias("m")
    statement = (
        select(messages.c.lease_token, messages.c.last_in_batch)
        .where(messages.c.k == 7)
        .where(messages.c.deliver_time > datetime(2027, 1, 1, tzinfo=UTC))
    )
    assert text(statement, GOOGLESQL) == (
        "SELECT m.`SpannerLeaseToken`, m.`SpannerLastBatchMessage` \n"
        "FROM RECEIVE_tasks() AS m \n"
        "WHERE m.k = :k_1 AND m.`DeliverTime` > :deliver_time_1"
    )
    assert text(statement, POSTGRESQL) == (
        "SELECT m.spanner_lease_token, m.spanner_last_batch_message \n"
        "FROM spanner.receive_tasks(max_batch_size => NULL, priority => NULL, max_duration => NULL) AS m \n"
        "WHERE m.k = %(k_1)s::BIGINT"
        " AND m.deliver_time > %(deliver_time_1)s::TIMESTAMP WITH TIME ZONE"
    )


def test_the_columns_are_the_documented_ones_in_their_order() -> None:
    assert receive(tasks).c.keys() == [
        "UserId",
        "task_id",
        "payload",
        "deliver_time",
        "lease_expiration",
        "lease_token",
        "last_in_batch",
    ]
    assert renew_lease(tasks, ["t"]).c.keys() == ["old_lease_token", "new_lease_token", "lease_expiration"]


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        (
            GOOGLESQL,
            (
                "SELECT renewed.`SpannerOldLeaseToken`, renewed.`SpannerNewLeaseToken`,"
                " renewed.`SpannerLeaseExpirationTimestamp` \n"
                "FROM RENEWLEASE_UserTasks(lease_tokens => [:param_1, :param_2]) AS renewed"
            ),
        ),
        (
            POSTGRESQL,
            (
                "SELECT renewed.spanner_old_lease_token, renewed.spanner_new_lease_token,"
                " renewed.spanner_lease_expiration_timestamp \n"
                'FROM spanner."renewlease_UserTasks"'
                "(lease_tokens => ARRAY[%(param_1)s::VARCHAR, %(param_2)s::VARCHAR]) AS renewed"
            ),
        ),
    ],
)
def test_renew_lease_binds_its_tokens(dialect: Any, written: str) -> None:
    statement = select(renew_lease(tasks, ["a'b", "c"]))
    assert text(statement, dialect) == written
    compiled = statement.compile(dialect=dialect)
    assert list(compiled.params.values()) == ["a'b", "c"]


@pytest.mark.parametrize("dialect", SPANNER, ids=named)
def test_tokens_that_are_bytes_are_bound_as_bytes(dialect: Any) -> None:
    compiled = select(renew_lease(lower, [b"\xff"]).c.new_lease_token).compile(dialect=dialect)
    assert list(compiled.params.values()) == [b"\xff"]
    assert "VARCHAR" not in str(compiled)


@pytest.mark.parametrize("dialect", SPANNER, ids=named)
def test_calls_with_different_arguments_never_share_a_text(dialect: Any) -> None:
    texts = {text(select(receive(lower, max_batch_size=size).c.k), dialect) for size in (1, 2, 3)}
    assert len(texts) == 3
    same = select(receive(lower, max_batch_size=2).c.k)
    assert text(same, dialect) == text(same, dialect)
    counts = {text(select(renew_lease(lower, ["t"] * size).c.new_lease_token), dialect) for size in (1, 2)}
    assert len(counts) == 2


def test_a_statement_with_receive_is_not_cached_by_its_shape() -> None:
    first = select(receive(lower, max_batch_size=1).c.k)._generate_cache_key()
    second = select(receive(lower, max_batch_size=2).c.k)._generate_cache_key()
    assert first is None or first != second


def test_a_model_stands_for_its_queue() -> None:
    class Base(DeclarativeBase):
        pass

    class Job(QueueMessage, Base):
        __tablename__ = "jobs"
        key: Mapped[str] = message_key("job_key")
        payload: Mapped[bytes] = payload_column(Bytes())

    assert text(select(receive(Job).c.job_key), GOOGLESQL) == (
        "SELECT messages.job_key \nFROM RECEIVE_jobs() AS messages"
    )


@pytest.mark.parametrize("dialect", [SQLITE, MYSQL], ids=named)
@pytest.mark.parametrize(
    "statement", [select(receive(lower).c.k), select(renew_lease(lower, ["t"]))], ids=["receive", "renew"]
)
def test_a_database_without_these_functions_says_so(dialect: Any, statement: Any) -> None:
    with pytest.raises(UnsupportedDialect, match=dialect.name):
        text(statement, dialect)


@pytest.mark.parametrize(
    "target", [Table("t", MetaData(), Column("k", BigInteger, primary_key=True)), object, "tasks"], ids=repr
)
def test_what_is_no_queue_is_refused(target: Any) -> None:
    with pytest.raises(TypeError, match="queue"):
        receive(target)
    with pytest.raises(TypeError, match="queue"):
        renew_lease(target, ["t"])
