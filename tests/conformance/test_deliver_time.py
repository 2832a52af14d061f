"""When a message is due: delays by the database's clock, instants with a time zone, past ones at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import DeliverTimeError, Receiver, acknowledge, reschedule, send_many
from tests.conformance.engines import World
from tests.conformance.helpers import arriving_keys, send, send_jobs, take_one
from tests.conformance.models import Job

MINUTE = timedelta(minutes=1)


def by_add(world: World, delay: timedelta) -> None:
    send(world, Job(key="a", payload=b"", delay=delay))


def by_attribute(world: World, delay: timedelta) -> None:
    job = Job(key="a", payload=b"")
    job.delay = delay
    send(world, job)


def by_send_many(world: World, delay: timedelta) -> None:
    with Session(world.engine) as session, session.begin():
        send_many(session, [Job(key="a", payload=b"", delay=delay)])


def by_core(world: World, delay: timedelta) -> None:
    with world.engine.begin() as connection:
        connection.execute(Job.__table__.insert().values(JobKey="a", payload=b"", deliver_time=delay))


def by_reschedule(world: World, delay: timedelta) -> None:
    send_jobs(world, "a")
    with Session(world.engine) as session, session.begin():
        reschedule(session, session.get_one(Job, "a"), delay=delay)


def by_reschedule_of_received(world: World, delay: timedelta) -> None:
    send_jobs(world, "a")
    with Receiver(world.engine, Job) as receiver:
        message = take_one(receiver)
        with Session(world.engine) as session, session.begin():
            reschedule(session, message, delay=delay)


WAYS = [by_add, by_attribute, by_send_many, by_core, by_reschedule, by_reschedule_of_received]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_delayed_message_comes_when_its_delay_is_over_and_not_before(
    ready: World, way: Callable[..., None]
) -> None:
    ready.advance(1000)
    way(ready, MINUTE)
    assert arriving_keys(ready) == []
    ready.advance(45)
    assert arriving_keys(ready) == []
    ready.advance(15)
    assert arriving_keys(ready) == ["a"]


@pytest.mark.parametrize(
    "zone", [UTC, timezone(timedelta(hours=-7)), timezone(timedelta(hours=5.5))], ids=str
)
def test_deliver_at_is_an_instant_in_any_time_zone(ready: World, zone: timezone) -> None:
    due = datetime.now(UTC) + MINUTE
    send(ready, Job(key="a", payload=b"", deliver_at=due.astimezone(zone)))
    assert arriving_keys(ready) == []
    ready.advance(45)
    assert arriving_keys(ready) == []
    ready.advance(15)
    with Receiver(ready.engine, Job) as receiver:
        assert take_one(receiver).deliver_time == due


def test_rescheduling_takes_an_instant_too(ready: World) -> None:
    send_jobs(ready, "a")
    due = datetime.now(UTC) + MINUTE
    with Session(ready.engine) as session, session.begin():
        assert reschedule(session, session.get_one(Job, "a"), deliver_at=due).deliver_time == due
    assert arriving_keys(ready) == []
    ready.advance(60)
    assert arriving_keys(ready) == ["a"]


@pytest.mark.parametrize(
    "past", [datetime(2001, 1, 1, tzinfo=UTC), datetime(1969, 1, 1, tzinfo=UTC)], ids=str
)
def test_a_deliver_time_in_the_past_is_due_at_once(ready: World, past: datetime) -> None:
    send(ready, Job(key="a", payload=b"", deliver_at=past))
    assert arriving_keys(ready) == ["a"]


def test_the_deliver_time_is_readable_once_the_message_is_flushed(ready: World) -> None:
    due = datetime(2040, 2, 29, 12, 0, 0, 123456, tzinfo=UTC)
    with Session(ready.engine) as session, session.begin():
        plain, delayed = Job(key="p", payload=b""), Job(key="d", payload=b"", delay=MINUTE)
        dated = Job(key="t", payload=b"", deliver_at=due)
        session.add_all([plain, delayed, dated])
        session.flush()
        assert dated.deliver_time == due
        assert delayed.deliver_time.utcoffset() == timedelta(0)
        assert (
            MINUTE - timedelta(seconds=5)
            < delayed.deliver_time - plain.deliver_time
            < MINUTE + timedelta(seconds=5)
        )


def test_messages_with_and_without_a_deliver_time_mix_in_one_flush(ready: World) -> None:
    now = datetime.now(UTC)
    send(
        ready,
        Job(key="now", payload=b""),
        Job(key="delayed", payload=b"", delay=MINUTE),
        Job(key="dated", payload=b"", deliver_at=now + 2 * MINUTE),
        Job(key="also now", payload=b""),
    )
    seen = [arriving_keys(ready)]
    for _ in range(2):
        with Session(ready.engine) as session, session.begin():
            acknowledge(session, *(session.get_one(Job, key) for key in seen[-1]))
        ready.advance(60)
        seen.append(arriving_keys(ready))
    assert seen == [["also now", "now"], ["delayed"], ["dated"]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"deliver_at": datetime(2030, 1, 1)},
        {"deliver_at": "2030-01-01T00:00:00Z"},
        {"delay": timedelta(seconds=-1)},
        {"delay": MINUTE, "deliver_at": datetime(2030, 1, 1, tzinfo=UTC)},
    ],
    ids=lambda wrong: "-".join(wrong),
)
def test_naive_negative_and_double_deliver_times_are_refused(ready: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(DeliverTimeError):
        Job(key="a", payload=b"", **wrong)
    send_jobs(ready, "a")
    with Session(ready.engine) as session:
        job = session.get_one(Job, "a")
        with pytest.raises(DeliverTimeError):
            reschedule(session, job, **wrong)
        session.commit()
    assert arriving_keys(ready) == ["a"]


def test_a_naive_deliver_time_is_refused_in_core_too(ready: World) -> None:
    with ready.engine.connect() as connection, pytest.raises(Exception) as raised:
        connection.execute(
            Job.__table__.insert().values(JobKey="a", payload=b"", deliver_time=datetime(2030, 1, 1))
        )
    assert isinstance(raised.value, DeliverTimeError) or isinstance(raised.value.__cause__, DeliverTimeError)
