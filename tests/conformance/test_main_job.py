"""The main job on every engine: declare, create, send, receive, work and acknowledge together."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Receiver
from tests.conformance.engines import World
from tests.conformance.models import Base, User, Welcome, WelcomeEmail


def test_work_and_acknowledgment_commit_together(world: World) -> None:
    world.create(Base.metadata)
    with Session(world.engine) as session, session.begin():
        session.add(WelcomeEmail(user_id=1, payload=Welcome("hi", "a@example.com")))
        session.add(User(user_id=1))

    with Receiver(world.engine, WelcomeEmail) as receiver:
        message = next(iter(receiver))
        assert message.payload == Welcome("hi", "a@example.com")
        with receiver.processing(message) as session:
            user = session.get(User, message.user_id)
            assert user is not None
            user.welcomed = True

    with Session(world.engine) as session:
        assert session.scalar(select(func.count()).select_from(WelcomeEmail)) == 0
        assert session.get_one(User, 1).welcomed
