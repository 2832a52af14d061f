"""A message can be changed until it is sent, and not afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, MetaData, String, create_engine, event, inspect, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, make_transient, mapped_column
from sqlalchemy.orm.attributes import flag_modified

from sqlalchemy_spanner_queues import (
    Json,
    MessageImmutable,
    QueueMessage,
    message_key,
    payload_column,
    reschedule,
)


class Base(DeclarativeBase):
    metadata = MetaData()


class Job(QueueMessage, Base):
    __tablename__ = "Jobs"
    key: Mapped[str] = message_key("JobKey")
    payload: Mapped[Any] = payload_column(Json())


class Note(Base):
    __tablename__ = "Notes"
    key: Mapped[str] = mapped_column(String(36), primary_key=True)
    body: Mapped[str] = mapped_column(String(9))


@pytest.fixture
def engine() -> Engine:
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        session.add(Job(key="a", payload={"step": 1}))
        session.add(Note(key="a", body="x"))
    return engine


@pytest.fixture
def written(engine: Engine) -> Iterator[list[str]]:
    """Collect what reaches the database and is not a SELECT."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if not statement.startswith("SELECT"):
            seen.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


def set_attribute(name: str, value: Any) -> Callable[[Session], None]:
    def change(session: Session) -> None:
        setattr(session.get_one(Job, "a"), name, value)
        session.flush()

    return change


def change_expired(session: Session) -> None:
    job = session.get_one(Job, "a")
    session.expire(job)
    job.payload = {"step": 2}
    session.flush()


def change_detached(session: Session) -> None:
    job = session.get_one(Job, "a")
    session.expunge(job)
    job.payload = {"step": 2}
    session.add(job)
    session.flush()


def change_just_sent(session: Session) -> None:
    job = Job(key="b", payload={"step": 1})
    session.add(job)
    session.commit()
    job.payload = {"step": 2}
    session.flush()


def flag(session: Session) -> None:
    flag_modified(session.get_one(Job, "a"), "payload")
    session.flush()


def merge_changed(session: Session) -> None:
    session.merge(Job(key="a", payload={"step": 2}))
    session.flush()


def merge_changed_loaded(session: Session) -> None:
    session.get_one(Job, "a")
    merge_changed(session)


def replace_in_one_flush(session: Session) -> None:
    session.delete(session.get_one(Job, "a"))
    session.add(Job(key="a", payload={"step": 2}))
    session.flush()


def save_changed(session: Session) -> None:
    job = session.get_one(Job, "a")
    session.expunge(job)
    job.__dict__["payload"] = {"step": 2}
    session.bulk_save_objects([job], update_changed_only=False)


CHANGES: dict[str, tuple[Callable[[Session], None], str]] = {
    "payload": (set_attribute("payload", {"step": 2}), "payload"),
    "payload of another type": (set_attribute("payload", True), "payload"),
    "key": (set_attribute("key", "b"), "key"),
    "delay": (set_attribute("delay", timedelta(hours=1)), "deliver_time"),
    "deliver_at": (set_attribute("deliver_at", datetime(2030, 1, 1, tzinfo=UTC)), "deliver_time"),
    "expired": (change_expired, "payload"),
    "detached": (change_detached, "payload"),
    "just sent": (change_just_sent, "payload"),
    "flag_modified": (flag, ""),
    "merge": (merge_changed, "payload"),
    "merge into a loaded one": (merge_changed_loaded, "payload"),
    "delete and add": (replace_in_one_flush, "delete and add"),
    "bulk_save_objects": (save_changed, ""),
}


@pytest.mark.parametrize(("change", "attribute"), CHANGES.values(), ids=CHANGES.keys())
def test_a_sent_message_cannot_be_changed(
    change: Callable[[Session], None], attribute: str, engine: Engine, written: list[str]
) -> None:
    with Session(engine) as session, pytest.raises(MessageImmutable, match=r"reschedule\(") as caught:
        change(session)
    assert caught.value.queue == "Jobs"
    assert attribute in caught.value.attribute
    assert not [statement for statement in written if statement.startswith(("UPDATE", "DELETE"))]
    with Session(engine) as session:
        assert session.get_one(Job, "a").payload == {"step": 1}


def test_setting_a_value_to_itself_is_fine(engine: Engine, written: list[str]) -> None:
    with Session(engine) as session, session.begin():
        job = session.get_one(Job, "a")
        job.payload = {"step": 1}
        job.key = "a"
        job.payload = job.payload
    assert written == []


def test_setting_an_expired_value_to_itself_is_fine(engine: Engine, written: list[str]) -> None:
    with Session(engine) as session, session.begin():
        job = session.get_one(Job, "a")
        session.expire(job)
        job.payload = {"step": 1}
    assert written == []


def test_merging_an_unchanged_message_is_fine(engine: Engine, written: list[str]) -> None:
    with Session(engine) as session, session.begin():
        merged = session.merge(Job(key="a", payload={"step": 1}))
        assert session.merge(merged) is merged
    with Session(engine) as other, Session(engine) as session, session.begin():
        session.merge(other.get_one(Job, "a"))
    assert written == []


def test_merging_a_message_that_is_not_there_sends_it(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.merge(Job(key="b", payload=[1]))
    with Session(engine) as session:
        assert session.get_one(Job, "b").payload == [1]


def test_a_message_can_be_changed_until_it_is_sent(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        job = Job(key="b", payload=1)
        job.payload = 2
        session.add(job)
        job.payload = [3]
        job.key = "c"
        job.delay = timedelta(hours=1)
        job.delay = timedelta(hours=2)
    with Session(engine) as session:
        found = session.get_one(Job, "c")
        assert found.payload == [3]
        assert found.deliver_time > datetime.now(UTC) + timedelta(minutes=119)


def test_a_message_that_was_rolled_back_can_be_changed_and_sent_again(engine: Engine) -> None:
    job = Job(key="b", payload=1)
    with Session(engine) as session:
        session.add(job)
        session.flush()
        session.rollback()
        job.payload = 2
        session.add(job)
        session.commit()
    with Session(engine) as session:
        assert session.get_one(Job, "b").payload == 2


def test_a_copy_made_transient_is_a_new_message(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        job = session.get_one(Job, "a")
        make_transient(job)
        job.key, job.payload = "b", {"step": 2}
        job.deliver_time = None
        session.add(job)
    with Session(engine) as session:
        assert sorted(session.scalars(select(Job.key))) == ["a", "b"]


def test_reschedule_is_the_way_to_change_one(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        job = session.get_one(Job, "a")
        successor = reschedule(session, job, delay=timedelta(hours=1), payload={"step": 2})
        assert successor is not job
        assert inspect(successor).persistent
    with Session(engine) as session:
        found = session.get_one(Job, "a")
        assert found.payload == {"step": 2}
        assert found.deliver_time > datetime.now(UTC) + timedelta(minutes=59)


def test_other_models_in_the_session_change_as_ever(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.get_one(Job, "a")
        session.get_one(Note, "a").body = "y"
    with Session(engine) as session:
        assert session.get_one(Note, "a").body == "y"
