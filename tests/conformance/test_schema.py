"""Queues are created, dropped, interleaved and queried like tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import permutations
from typing import Any

import pytest
from sqlalchemy import BigInteger, Column, Computed, DateTime, MetaData, String, Table, delete, insert, select
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Bytes, Queue
from tests.conformance.engines import World
from tests.conformance.helpers import DATABASE_ERRORS, count, send
from tests.conformance.models import Audit, Base, Job, User, Welcome, WelcomeEmail


def stored(world: World, queue: Table) -> int:
    with world.engine.connect() as connection:
        return len(connection.execute(select(queue)).all())


def test_create_all_after_drop_all_makes_the_queues_anew(world: World) -> None:
    for _ in range(2):
        Base.metadata.create_all(world.engine)
        send(world, User(user_id=1), WelcomeEmail(user_id=1, payload=Welcome("hi", "a@example.com")))
        assert count(world, WelcomeEmail) == 1
        Base.metadata.drop_all(world.engine)
    Base.metadata.create_all(world.engine)
    assert count(world, WelcomeEmail) == 0


def test_create_all_leaves_existing_queues_and_their_messages_alone(ready: World) -> None:
    send(ready, Job(key="a", payload=b""))
    Base.metadata.create_all(ready.engine)
    assert count(ready, Job) == 1


def singers(metadata: MetaData) -> Table:
    return Table("Singers", metadata, Column("SingerId", BigInteger, primary_key=True, autoincrement=False))


def albums(metadata: MetaData) -> Table:
    return Table(
        "Albums",
        metadata,
        Column("SingerId", BigInteger, primary_key=True, autoincrement=False),
        Column("AlbumId", BigInteger, primary_key=True, autoincrement=False),
        spanner_interleave_in="Singers",
    )


def plays(metadata: MetaData) -> Table:
    return Queue(
        "Plays",
        metadata,
        Column("SingerId", BigInteger, primary_key=True),
        Column("AlbumId", BigInteger, primary_key=True),
        Column("PlayId", String(36), primary_key=True),
        payload=Bytes(),
        interleave_in="Albums",
        on_delete="CASCADE",
    )


# The Spanner dialect registers itself as "spanner.spanner", so that SQLAlchemy cannot check its arguments.
@pytest.mark.filterwarnings("ignore:Can't validate argument:sqlalchemy.exc.SAWarning")
@pytest.mark.parametrize(
    "order",
    list(permutations((singers, albums, plays))),
    ids=lambda order: "-".join(f.__name__ for f in order),
)
def test_three_levels_are_ordered_whatever_the_declaration_order(
    world: World, order: tuple[Any, ...]
) -> None:
    metadata = MetaData()
    for declare in order:
        declare(metadata)
    for _ in range(2):
        metadata.create_all(world.engine)
        with world.engine.begin() as connection:
            connection.execute(insert(metadata.tables["Singers"]), {"SingerId": 1})
            connection.execute(insert(metadata.tables["Albums"]), {"SingerId": 1, "AlbumId": 2})
            values = {"SingerId": 1, "AlbumId": 2, "PlayId": "p", "payload": b"x"}
            connection.execute(metadata.tables["Plays"].insert(), values)
        assert stored(world, metadata.tables["Plays"]) == 1
        metadata.drop_all(world.engine)


def test_a_message_without_its_parent_row_is_refused(ready: World) -> None:
    with Session(ready.engine) as session:
        session.add(WelcomeEmail(user_id=404, payload=Welcome("hi", "a@example.com")))
        with pytest.raises(DATABASE_ERRORS):
            session.flush()
        session.rollback()
    assert count(ready, WelcomeEmail) == 0


def test_interleaving_without_parent_needs_no_parent_row(world: World) -> None:
    metadata = MetaData()
    singers(metadata)
    key = [Column("SingerId", BigInteger, primary_key=True), Column("Id", BigInteger, primary_key=True)]
    loose = Queue("Loose", metadata, *key, payload=Bytes(), interleave_in="Singers", in_parent=False)
    world.create(metadata)
    with world.engine.begin() as connection:
        connection.execute(loose.insert(), {"SingerId": 404, "Id": 1, "payload": b""})
    assert stored(world, loose) == 1


def test_on_delete_cascade_takes_the_messages_along(ready: World) -> None:
    welcome = Welcome("hi", "a@example.com")
    send(ready, *(User(user_id=n) for n in (1, 2)))
    send(ready, *(WelcomeEmail(user_id=n, payload=welcome) for n in (1, 1, 2)))
    with ready.engine.begin() as connection:
        connection.execute(delete(User).where(User.user_id == 1))
    assert count(ready, WelcomeEmail) == 1


def test_on_delete_no_action_holds_the_parent_row(ready: World) -> None:
    send(ready, User(user_id=1), Audit(user_id=1, payload=b""))
    with pytest.raises(DATABASE_ERRORS), ready.engine.begin() as connection:
        connection.execute(delete(User).where(User.user_id == 1))
    assert count(ready, User) == 1
    with ready.engine.begin() as connection:
        connection.execute(delete(Audit).where(Audit.user_id == 1))
        connection.execute(delete(User).where(User.user_id == 1))
    assert count(ready, User) == 0


def test_generated_stored_keys_are_computed_by_the_database(world: World) -> None:
    queue = Queue(
        "Sharded",
        MetaData(),
        Column("Shard", BigInteger, Computed("TaskId * 10", persisted=True), primary_key=True),
        Column("TaskId", BigInteger, primary_key=True),
        payload=Bytes(),
    )
    world.create(queue.metadata)
    with world.engine.begin() as connection:
        connection.execute(queue.insert(), [{"TaskId": n, "payload": b"x"} for n in (1, 2)])
        assert connection.execute(select(queue.c.Shard, queue.c.TaskId).order_by("TaskId")).all() == [
            (10, 1),
            (20, 2),
        ]
        connection.execute(queue.delete().where(queue.c.Shard == 10, queue.c.TaskId == 1))
    assert stored(world, queue) == 1


def dated() -> Table:
    return Queue(
        "Dated",
        MetaData(),
        Column("CreatedAt", DateTime(timezone=True), primary_key=True),
        Column("Priority", BigInteger, primary_key=True),
        payload=Bytes(),
        descending={"Priority"},
        row_deletion=("CreatedAt", timedelta(days=7)),
    )


def test_descending_keys_and_a_row_deletion_policy_are_accepted(world: World) -> None:
    queue = dated()
    world.create(queue.metadata)
    created = datetime.now(UTC)
    with world.engine.begin() as connection:
        connection.execute(queue.insert(), {"CreatedAt": created, "Priority": 3, "payload": b"x"})
        connection.execute(queue.delete().where(queue.c.CreatedAt == created, queue.c.Priority == 3))
    assert stored(world, queue) == 0


@pytest.mark.parametrize("hours", [0, -7])
def test_a_timestamp_key_is_the_same_instant_when_it_comes_back(world: World, hours: int) -> None:
    queue = dated()
    world.create(queue.metadata)
    created = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=timezone(timedelta(hours=hours)))
    with world.engine.begin() as connection:
        connection.execute(queue.insert(), {"CreatedAt": created, "Priority": 3, "payload": b"x"})
        assert connection.execute(select(queue.c.CreatedAt)).scalar_one() == created
        connection.execute(queue.delete().where(queue.c.CreatedAt == created, queue.c.Priority == 3))


def test_disable_send_refuses_to_send(world: World) -> None:
    key = Column("Id", BigInteger, primary_key=True)
    queue = Queue("Shut", MetaData(), key, payload=Bytes(), options={"disable_send": True})
    world.create(queue.metadata)
    with pytest.raises(DATABASE_ERRORS), world.engine.begin() as connection:
        connection.execute(queue.insert(), {"Id": 1, "payload": b""})
    assert stored(world, queue) == 0


def test_a_queue_is_selected_filtered_and_joined_like_a_table(ready: World) -> None:
    due = datetime.now(UTC) + timedelta(hours=1)
    send(ready, User(user_id=1, welcomed=True), User(user_id=2))
    send(
        ready,
        WelcomeEmail(user_id=1, message_id="late", payload=Welcome("a", "1"), deliver_at=due),
        WelcomeEmail(user_id=1, message_id="now", payload=Welcome("b", "2")),
        WelcomeEmail(user_id=2, message_id="other", payload=Welcome("c", "3")),
    )
    with Session(ready.engine) as session:
        welcomed = select(WelcomeEmail).join(WelcomeEmail.user).where(User.welcomed)
        found = session.scalars(welcomed.order_by(WelcomeEmail.deliver_time)).all()
        assert [message.message_id for message in found] == ["now", "late"]
        later = select(WelcomeEmail.payload).where(WelcomeEmail.deliver_time >= due)
        assert session.scalars(later).all() == [Welcome("a", "1")]
        assert found[0].user.welcomed


def test_an_index_of_messages_by_deliver_time_shows_what_is_stuck(ready: World) -> None:
    hour = timedelta(hours=1)
    send(ready, *(Job(key=f"j{n}", payload=b"", delay=n * hour) for n in (3, 1, 2)))
    oldest = select(Job.key, Job.deliver_time).order_by(Job.deliver_time).limit(2)
    with Session(ready.engine) as session:
        rows = session.execute(oldest).all()
    assert [row.key for row in rows] == ["j1", "j2"]
    assert timedelta(minutes=59) < rows[1].deliver_time - rows[0].deliver_time < timedelta(minutes=61)


@pytest.mark.parametrize("on_delete", ["CASCADE", "NO ACTION"])
def test_a_dropped_queue_leaves_its_parent_as_it_was(world: World, on_delete: str) -> None:
    metadata = MetaData()
    owners = Table("Owners", metadata, Column("OwnerId", BigInteger, primary_key=True, autoincrement=False))
    key = Column("OwnerId", BigInteger, primary_key=True)
    notes = Queue("Notes", metadata, key, payload=Bytes(), interleave_in=owners, on_delete=on_delete)
    world.create(metadata)
    with world.engine.begin() as connection:
        connection.execute(insert(owners).values(OwnerId=1))
    metadata.drop_all(world.engine, tables=[notes])
    with world.engine.begin() as connection:
        connection.execute(delete(owners).where(owners.c.OwnerId == 1))
    with world.engine.connect() as connection:
        assert connection.execute(select(owners)).all() == []
