"""The deliver time as a column: what it takes, what it sends, what it gives back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from sqlalchemy import Column, Engine, MetaData, String, create_engine, select

from sqlalchemy_spanner_queues import Bytes, DeliverTimeError, Queue
from sqlalchemy_spanner_queues.columns import Delay
from tests.unit.dialects import ALL, GOOGLESQL, named

NOON = datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
HOUR = timedelta(hours=1)

queue = Queue("Jobs", MetaData(), Column("JobKey", String(36), primary_key=True), payload=Bytes())


@pytest.fixture
def engine() -> Engine:
    engine = create_engine("sqlite://")
    queue.metadata.create_all(engine)
    return engine


@pytest.mark.parametrize("given", [HOUR, Delay(HOUR), timedelta(0), NOON], ids=repr)
def test_core_takes_the_same_values(given: Any, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(queue.insert().values(JobKey="a", payload=b"", deliver_time=given))
        due = connection.execute(select(queue.c.deliver_time)).scalar_one()
    expected = given if isinstance(given, datetime) else datetime.now(UTC) + getattr(given, "by", given)
    assert abs(due - expected) < timedelta(seconds=5)


def test_core_refuses_a_naive_datetime(engine: Engine) -> None:
    with engine.connect() as connection, pytest.raises(DeliverTimeError, match="time zone"):
        connection.execute(queue.insert().values(JobKey="a", payload=b"", deliver_time=datetime(2030, 1, 1)))
    with engine.connect() as connection, pytest.raises(DeliverTimeError, match="time zone"):
        connection.execute(select(queue).where(queue.c.deliver_time < datetime(2030, 1, 1)))


@pytest.mark.parametrize("dialect", ALL, ids=named)
def test_one_statement_sends_instants_and_delays_alike(dialect: Any) -> None:
    column: Any = queue.c.deliver_time
    process = column.type.bind_processor(dialect)
    assert process(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)) == 1_000_005
    assert process(timedelta(seconds=2, microseconds=3)) == -2_000_003
    assert process(Delay.NONE) == 0


def test_a_deliver_time_of_spanner_comes_back_as_a_plain_datetime() -> None:
    column: Any = queue.c.deliver_time
    process = column.type.result_processor(GOOGLESQL, None)
    given = DatetimeWithNanoseconds(2030, 1, 1, 12, nanosecond=123_456_789, tzinfo=UTC)
    assert process(given) == NOON
    assert type(process(given)) is datetime
    assert process(None) is None
    assert process(DatetimeWithNanoseconds(9999, 12, 31, 23, 59, 59, nanosecond=999_999_999)).year == 9999
