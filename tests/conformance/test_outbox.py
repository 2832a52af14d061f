"""Sending is part of the session's commit: parents first, all or nothing, due when it was said."""

from __future__ import annotations

import gc
from itertools import permutations
from typing import Any

import pytest
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from sqlalchemy_spanner_queues import (
    Bytes,
    MessageAlreadyExists,
    MessageImmutable,
    QueueMessage,
    QueueOptions,
    Receiver,
    acknowledge,
    message_key,
    payload_column,
    reschedule,
    send_many,
)
from tests.conformance.engines import World
from tests.conformance.helpers import arriving_keys, count, finish, listening, send, send_jobs, take_one
from tests.conformance.models import Audit, Job, User, Welcome, WelcomeEmail


def rows() -> list[Any]:
    return [
        WelcomeEmail(user_id=1, payload=Welcome("hi", "a@example.com")),
        Audit(user_id=1, payload=b""),
        User(user_id=1),
    ]


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_parents_are_written_first_whatever_the_order_of_adding(ready: World, order: tuple[int, ...]) -> None:
    made = rows()
    send(ready, *(made[at] for at in order))
    assert [count(ready, model) for model in (User, WelcomeEmail, Audit)] == [1, 1, 1]


def test_children_are_deleted_before_their_parent_in_one_flush(ready: World) -> None:
    send(ready, *rows())
    with Session(ready.engine) as session, session.begin():
        for row in [session.query(model).one() for model in (User, WelcomeEmail, Audit)]:
            session.delete(row)
    assert [count(ready, model) for model in (User, WelcomeEmail, Audit)] == [0, 0, 0]


def test_a_message_takes_its_key_from_the_parent_that_it_is_given(ready: World) -> None:
    send(ready, WelcomeEmail(user=User(user_id=7), payload=Welcome("hi", "a@example.com")))
    with Session(ready.engine) as session:
        assert session.query(WelcomeEmail).one().user_id == 7


def test_a_collection_of_the_parent_sends_what_is_appended(world: World) -> None:
    class Base(DeclarativeBase):
        pass

    class Zebra(Base):
        __tablename__ = "Zebras"
        zebra_id: Mapped[int] = mapped_column("ZebraId", primary_key=True, autoincrement=False)
        feedings: Mapped[list[Feeding]] = relationship(back_populates="zebra")

    class Feeding(QueueMessage, Base):
        __tablename__ = "Feedings"
        __queue__ = QueueOptions(interleave_in=Zebra, on_delete="CASCADE")
        zebra_id: Mapped[int] = mapped_column("ZebraId", primary_key=True)
        message_id: Mapped[str] = message_key()
        payload: Mapped[bytes] = payload_column(Bytes())
        zebra: Mapped[Zebra] = relationship(back_populates="feedings")

    world.create(Base.metadata)
    send(world, Zebra(zebra_id=3, feedings=[Feeding(payload=b"hay"), Feeding(payload=b"oats")]))
    with Receiver(world.engine, Feeding) as receiver:
        message = take_one(receiver)
        assert message.zebra_id == 3
        finish(world.engine, message)
    assert count(world, Feeding) == 1


def test_messages_that_nobody_holds_any_more_do_not_disturb_a_commit(ready: World) -> None:
    def collect(_target: User, _names: object) -> None:
        gc.collect()

    with listening(User, "expire", collect), Session(ready.engine) as session, session.begin():
        for number in range(5):
            job: Any = Job(key=f"j{number}", payload=b"")
            job.circle = job
            session.add_all([User(user_id=number), job])
            del job
        gc.disable()
        session.flush()
    gc.enable()
    assert count(ready, Job) == 5


@pytest.mark.parametrize("flush", [True, False])
def test_a_rollback_leaves_no_message(ready: World, flush: bool) -> None:
    with Session(ready.engine) as session:
        session.add_all(rows())
        send_many(session, [Job(key="a", payload=b"")])
        if flush:
            session.flush()
        session.rollback()
    assert [count(ready, model) for model in (User, WelcomeEmail, Audit, Job)] == [0, 0, 0, 0]
    assert arriving_keys(ready) == []


def test_an_exception_in_the_transaction_leaves_no_message(ready: World) -> None:
    def fail(session: Session) -> None:
        session.add(Job(key="a", payload=b""))
        session.flush()
        raise LookupError

    with Session(ready.engine) as session, pytest.raises(LookupError), session.begin():
        fail(session)
    assert count(ready, Job) == 0


def test_a_savepoint_that_is_rolled_back_takes_its_messages_with_it(ready: World) -> None:
    if not ready.savepoints:
        pytest.skip("the database has no savepoints")
    with Session(ready.engine) as session, session.begin():
        session.add(User(user_id=1))
        session.flush()
        with session.begin_nested():
            session.add(Job(key="kept", payload=b""))
        nested = session.begin_nested()
        session.add(Job(key="gone", payload=b""))
        session.flush()
        nested.rollback()
    assert arriving_keys(ready) == ["kept"]


@pytest.mark.parametrize("name", ["payload", "key", "deliver_time"])
def test_a_sent_message_cannot_be_changed(ready: World, name: str) -> None:
    send_jobs(ready, "a")
    with Session(ready.engine) as session:
        job = session.get_one(Job, "a")
        with pytest.raises(MessageImmutable, match="reschedule"):
            setattr(job, name, "other" if name == "key" else b"other" if name == "payload" else None)
    with Receiver(ready.engine, Job) as receiver:
        received = take_one(receiver)
        with pytest.raises(MessageImmutable, match="reschedule"):
            received.payload = b"other"
        assert received.payload == b"a"


def test_merging_a_changed_copy_is_refused_and_an_equal_copy_is_not(ready: World) -> None:
    send_jobs(ready, "a")
    with Session(ready.engine) as session:
        merged = session.merge(Job(key="a", payload=b"a"))
        session.commit()
        with pytest.raises(MessageImmutable):
            session.merge(Job(key="a", payload=b"changed"))
        session.rollback()
        assert merged.payload == b"a"


def test_bulk_and_core_updates_are_refused(ready: World) -> None:
    send_jobs(ready, "a")
    table = Job.__table__
    with Session(ready.engine) as session:
        with pytest.raises(MessageImmutable):
            session.query(Job).update({"payload": b"x"})
        session.rollback()
    with ready.engine.connect() as connection, pytest.raises(MessageImmutable):
        connection.execute(table.update().values(payload=b"x"))
    with Session(ready.engine) as session:
        assert session.get_one(Job, "a").payload == b"a"


def test_rescheduling_replaces_payload_and_keeps_the_key(ready: World) -> None:
    send_jobs(ready, "a")
    with Receiver(ready.engine, Job) as receiver:
        with Session(ready.engine) as session, session.begin():
            successor = reschedule(session, take_one(receiver), payload=b"second state")
            assert (successor.key, successor.payload) == ("a", b"second state")
        assert take_one(receiver).payload == b"second state"


def test_rescheduling_to_an_empty_payload_is_not_taken_for_keeping_it(ready: World) -> None:
    send_jobs(ready, "a")
    with Session(ready.engine) as session, session.begin():
        assert reschedule(session, session.get_one(Job, "a"), payload=b"").payload == b""


def test_delete_and_add_of_one_key_in_one_flush_is_refused_and_names_reschedule(ready: World) -> None:
    send_jobs(ready, "a")
    with Session(ready.engine) as session:
        session.delete(session.get_one(Job, "a"))
        session.add(Job(key="a", payload=b"again"))
        with pytest.raises(MessageImmutable, match="reschedule"):
            session.flush()
        session.rollback()
        assert session.get_one(Job, "a").payload == b"a"


def test_a_key_is_free_again_once_its_message_is_acknowledged(ready: World) -> None:
    send_jobs(ready, "a")
    with Receiver(ready.engine, Job) as receiver:
        for _ in range(3):
            message = take_one(receiver)
            with pytest.raises(MessageAlreadyExists), Session(ready.engine) as session, session.begin():
                session.add(Job(key="a", payload=b""))
            with Session(ready.engine) as session, session.begin():
                acknowledge(session, message)
                session.flush()
                session.add(Job(key="a", payload=b""))
    assert count(ready, Job) == 1
