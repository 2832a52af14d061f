"""The main job: a user signs up, a welcome message goes out with the same commit, a loop works it off.

python examples/quickstart.py                       # SQLite, in memory
python examples/quickstart.py --url sqlite:///shop.db
python examples/quickstart.py --emulator            # the local emulator with queues
python examples/quickstart.py --url spanner+spanner:///projects/p/instances/i/databases/d
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import BigInteger, Engine, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from sqlalchemy_spanner_queues import (
    Json,
    MessageAlreadyAcknowledged,
    QueueMessage,
    QueueOptions,
    Receiver,
    acknowledge,
    message_key,
    payload_column,
)


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "Users"
    user_id: Mapped[int] = mapped_column("UserId", BigInteger, primary_key=True, autoincrement=False)
    mails_sent: Mapped[int] = mapped_column("MailsSent", BigInteger, default=0)


@dataclass
class Welcome:
    template: str
    email: str


class WelcomeEmail(QueueMessage, Base):
    __tablename__ = "WelcomeEmails"
    __queue__ = QueueOptions(interleave_in=User, on_delete="CASCADE")
    user_id: Mapped[int] = mapped_column("UserId", BigInteger, primary_key=True)
    message_id: Mapped[str] = message_key("MessageId")
    payload: Mapped[Welcome] = payload_column(Json(Welcome))


def sign_up(engine: Engine, user_id: int, email: str) -> None:
    """Store the user and send two messages in one transaction; the second is due two seconds later."""
    with Session(engine) as session, session.begin():
        session.add(WelcomeEmail(user_id=user_id, payload=Welcome("welcome", email)))
        session.add(WelcomeEmail(user_id=user_id, payload=Welcome("tips", email), delay=timedelta(seconds=2)))
        session.add(User(user_id=user_id))
    print(f"signed up user {user_id}: the user and two messages were committed together")


def work(engine: Engine, expected: int) -> WelcomeEmail:
    """Handle messages until ``expected`` of them are done; return the last one."""
    tries: dict[str, int] = {}
    with Receiver(engine, WelcomeEmail) as receiver:
        for message in receiver:
            template = message.payload.template
            tries[template] = tries.get(template, 0) + 1
            print(f"received {template!r} for {message.payload.email}, delivery {tries[template]}")
            try:
                with receiver.processing(message) as session:
                    session.get_one(User, message.user_id).mails_sent += 1
                    if template == "welcome" and tries[template] == 1:
                        raise ConnectionError("the template service is down")
            except ConnectionError as error:
                print(f"failed: {error}; nothing was committed, the lease runs out within 10 seconds")
                continue
            print(f"acknowledged {template!r} in the transaction of its work")
            expected -= 1
            if not expected:
                return message
    raise AssertionError("the receiver was stopped")


def acknowledge_again(engine: Engine, message: WelcomeEmail) -> None:
    """Try to finish a message a second time: the work of that transaction cannot be committed."""
    try:
        with Session(engine) as session, session.begin():
            session.get_one(User, message.user_id).mails_sent += 1
            acknowledge(session, message)
    except MessageAlreadyAcknowledged as error:
        print(f"refused: {error}")


@contextmanager
def open_engine() -> Iterator[Engine]:
    parser = argparse.ArgumentParser(description="Run the main job of sqlalchemy-spanner-queues.")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--url", default="sqlite://", help="an SQLAlchemy URL (default: SQLite in memory)")
    where.add_argument("--emulator", action="store_true", help="the local emulator with queues")
    arguments = parser.parse_args()
    if not arguments.emulator:
        yield create_engine(arguments.url)
        return
    from sqlalchemy_spanner_queues.emulator import Emulator

    with Emulator() as emulator:
        yield emulator.create_engine()


def main() -> None:
    with open_engine() as engine:
        print(f"engine: {engine.dialect.name}")
        Base.metadata.create_all(engine)
        sign_up(engine, 1, "ada@example.com")
        last = work(engine, expected=2)
        acknowledge_again(engine, last)
        with Session(engine) as session:
            print(f"mails sent to user 1: {session.get_one(User, 1).mails_sent}")
        Base.metadata.drop_all(engine)


if __name__ == "__main__":
    main()
