"""When a message is due: an aware instant, or a delay that the database's clock counts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import TIMESTAMP, Engine, MetaData, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, Session, mapped_column

from sqlalchemy_spanner_queues import (
    Bytes,
    DeliverTimeError,
    QueueMessage,
    SpannerQueuesError,
    message_key,
    payload_column,
)


class Base(DeclarativeBase):
    metadata = MetaData()


class Job(QueueMessage, Base):
    __tablename__ = "Jobs"
    key: Mapped[str] = message_key("JobKey")
    payload: Mapped[bytes] = payload_column(Bytes())


class MappedTime(QueueMessage, Base):
    __tablename__ = "MappedTimes"
    key: Mapped[str] = message_key("JobKey")
    payload: Mapped[bytes] = payload_column(Bytes())
    deliver_time: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True))


class OtherName(QueueMessage, Base):
    __tablename__ = "OtherNames"
    key: Mapped[str] = message_key("JobKey")
    payload: Mapped[bytes] = payload_column(Bytes())
    due: Mapped[datetime] = mapped_column("DeliverTime", TIMESTAMP(timezone=True))


class DataBase(MappedAsDataclass, DeclarativeBase):
    metadata = Base.metadata


class DataJob(QueueMessage, DataBase):
    __tablename__ = "DataJobs"
    key: Mapped[str] = message_key("JobKey", init=False)
    payload: Mapped[bytes] = payload_column(Bytes(), default=b"")


MODELS: list[Any] = [Job, MappedTime, OtherName, DataJob]
NOON = datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
HOUR = timedelta(hours=1)

every_model = pytest.mark.parametrize("model", MODELS)


@pytest.fixture
def engine() -> Engine:
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    return engine


def stored(engine: Engine, message: Any) -> datetime:
    """Send the message and read when it is due from the table itself."""
    with Session(engine) as session, session.begin():
        session.add(message)
        session.flush()
        column = next(column for column in type(message).__table__.c if column.name == "DeliverTime")
        due = session.execute(select(column)).scalar_one()
        assert isinstance(due, datetime)
        return due


@every_model
def test_an_instant_is_stored_exactly(model: Any, engine: Engine) -> None:
    assert stored(engine, model(payload=b"", deliver_at=NOON)) == NOON


@every_model
def test_a_delay_is_counted_from_the_databases_now(model: Any, engine: Engine) -> None:
    before = datetime.now(UTC)
    due = stored(engine, model(payload=b"", delay=HOUR))
    after = datetime.now(UTC)
    # The clock of SQLite has milliseconds.
    assert before + HOUR - timedelta(milliseconds=2) <= due <= after + HOUR + timedelta(milliseconds=2)


@every_model
def test_without_either_a_message_is_due_at_once(model: Any, engine: Engine) -> None:
    assert stored(engine, model(payload=b"")) <= datetime.now(UTC) + timedelta(milliseconds=2)


@every_model
@pytest.mark.parametrize("set_it", ["delay", "deliver_at"])
def test_it_can_be_set_as_an_attribute(model: Any, set_it: str, engine: Engine) -> None:
    message = model(payload=b"")
    setattr(message, set_it, {"delay": HOUR, "deliver_at": NOON}[set_it])
    assert getattr(message, set_it) == {"delay": HOUR, "deliver_at": NOON}[set_it]
    assert stored(engine, message) > datetime.now(UTC) + timedelta(minutes=59)


@every_model
def test_a_naive_datetime_is_refused(model: Any) -> None:
    with pytest.raises(DeliverTimeError, match="time zone") as caught:
        model(payload=b"", deliver_at=datetime(2030, 1, 1))
    assert isinstance(caught.value, SpannerQueuesError)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(DeliverTimeError, match="time zone"):
        model(payload=b"").deliver_at = datetime(2030, 1, 1)


@every_model
@pytest.mark.parametrize("wrong", ["2030-01-01T00:00:00Z", 5, date(2030, 1, 1), HOUR], ids=repr)
def test_what_is_no_datetime_is_refused(model: Any, wrong: Any) -> None:
    with pytest.raises(DeliverTimeError):
        model(payload=b"", deliver_at=wrong)


@every_model
@pytest.mark.parametrize("wrong", [5, 0.5, "1h", NOON], ids=repr)
def test_what_is_no_timedelta_is_refused(model: Any, wrong: Any) -> None:
    with pytest.raises(DeliverTimeError):
        model(payload=b"", delay=wrong)


@every_model
def test_a_negative_delay_is_refused(model: Any) -> None:
    with pytest.raises(DeliverTimeError, match="0 or more"):
        model(payload=b"", delay=timedelta(microseconds=-1))


@every_model
def test_both_at_once_are_refused(model: Any) -> None:
    with pytest.raises(DeliverTimeError, match="not both"):
        model(payload=b"", delay=HOUR, deliver_at=NOON)
    message = model(payload=b"", delay=HOUR)
    with pytest.raises(DeliverTimeError, match="not both"):
        message.deliver_at = NOON


@every_model
def test_none_means_not_given(model: Any, engine: Engine) -> None:
    message = model(payload=b"", delay=None, deliver_at=None)
    assert message.delay is None
    assert message.deliver_at is None
    assert stored(engine, message) <= datetime.now(UTC) + timedelta(milliseconds=2)


def test_none_takes_back_what_was_planned() -> None:
    message = Job(payload=b"", delay=HOUR)
    message.delay = None
    assert message.delay is None
    message.deliver_at = NOON
    assert message.deliver_at == NOON


@pytest.mark.parametrize(
    "instant",
    [
        NOON,
        NOON.astimezone(timezone(timedelta(hours=-7))),
        NOON.astimezone(timezone(timedelta(hours=5, minutes=30))),
        NOON.astimezone(ZoneInfo("America/New_York")),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2100, 2, 28, 0, 0, 0, 1, tzinfo=UTC),
        datetime(2030, 6, 1, 12, 0, tzinfo=ZoneInfo("Europe/Berlin")),
    ],
    ids=str,
)
def test_an_instant_of_any_zone_is_the_same_instant(instant: datetime, engine: Engine) -> None:
    due = stored(engine, Job(payload=b"", deliver_at=instant))
    assert due == instant
    assert due.utcoffset() == timedelta(0)
    assert due.microsecond == instant.microsecond


def test_an_instant_of_the_past_is_due_now(engine: Engine) -> None:
    past = datetime(1969, 1, 1, tzinfo=UTC)
    assert stored(engine, Job(payload=b"", deliver_at=past)) <= datetime.now(UTC)


@every_model
def test_once_sent_it_is_what_the_database_says(model: Any, engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        message = model(payload=b"", delay=HOUR)
        session.add(message)
        session.flush()
        due = message.due if model is OtherName else message.deliver_time
        assert isinstance(due, datetime)
        assert due > datetime.now(UTC) + timedelta(minutes=59)
        assert message.delay is None


def test_messages_with_and_without_a_deliver_time_are_one_statement(engine: Engine) -> None:
    from sqlalchemy import event

    seen: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda _c, _k, text, *_rest: seen.append(text))
    with Session(engine) as session, session.begin():
        session.add(Job(payload=b"", delay=HOUR))
        session.add(Job(payload=b"", deliver_at=NOON))
        session.add(Job(payload=b""))
    assert len([text for text in seen if text.startswith("INSERT")]) == 1
