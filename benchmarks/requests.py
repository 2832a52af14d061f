"""Requests on the wire: sending, acknowledging and renewing cost one more, for however many messages."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import count
from uuid import uuid4

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Receiver, acknowledge
from sqlalchemy_spanner_queues.emulator import Emulator

from .figures import Figure, at_least, at_most
from .models import Base, Job, User, Welcome, WelcomeEmail, send_jobs

LEASES = 200
ACKNOWLEDGED = 50

_user_ids = count(1)


def run(smoke: bool) -> list[Figure]:
    with Emulator() as emulator:
        engine = emulator.create_engine()
        Base.metadata.create_all(engine)
        sign_up(engine, 0)
        plain = counted(emulator, lambda: sign_up(engine, 0))
        figures: list[Figure] = []
        for k in (1, 10, 100):
            more = counted(emulator, partial(sign_up, engine, k)) - plain
            name = f"requests of a transaction with {k} messages, above none"
            figures.append(at_most(name, more, "requests", 1))
        figures.append(acknowledging(emulator, engine))
        figures += renewing(emulator, engine, beats=1 if smoke else 3)
        engine.dispose()
    return figures


def counted(emulator: Emulator, work: Callable[[], object]) -> int:
    """Return how many requests of any kind reach the database while ``work`` runs."""
    emulator.requests(reset=True)
    work()
    return sum(emulator.requests().values())


def sign_up(engine: Engine, messages: int) -> None:
    """Store a user, with messages of made-up and of own keys, due at once and later."""
    user_id = next(_user_ids)
    with Session(engine) as session, session.begin():
        for at in range(messages):
            delay = timedelta(minutes=at) if at % 3 else None
            message = WelcomeEmail(user_id=user_id, payload=Welcome("hi", f"{at}@example.com"), delay=delay)
            if at % 2:
                message.message_id = str(uuid4())
            session.add(message)
        session.add(User(user_id=user_id))


def acknowledging(emulator: Emulator, engine: Engine) -> Figure:
    """Compare one transaction of work with the same and a batch acknowledged in it."""
    send_jobs(engine, ACKNOWLEDGED, ACKNOWLEDGED)
    with Receiver(engine, Job, max_batch_size=ACKNOWLEDGED) as receiver:
        batch = next(receiver.batches())
    assert len(batch) == ACKNOWLEDGED

    def work(messages: list[Job]) -> None:
        with Session(engine) as session, session.begin():
            session.add(User(user_id=next(_user_ids)))
            acknowledge(session, *messages)

    plain = counted(emulator, lambda: work([]))
    more = counted(emulator, lambda: work(batch)) - plain
    return at_most(f"acknowledging {ACKNOWLEDGED} messages with the work, above none", more, "requests", 1)


def renewing(emulator: Emulator, engine: Engine, beats: int) -> list[Figure]:
    """Hold a batch for some beats of the keeper, and count what it costs beyond opening its session once."""
    send_jobs(engine, LEASES, LEASES // 4)
    with Receiver(engine, Job, max_batch_size=LEASES) as receiver:
        batch = next(receiver.batches())
        emulator.requests(reset=True)
        first, seen, ends = [job.lease.token for job in batch], 0, time.monotonic() + 10 * (beats + 1)
        token = first[-1]
        while seen < beats and time.monotonic() < ends:
            time.sleep(0.05)
            if batch[-1].lease.token != token:
                seen, token = seen + 1, batch[-1].lease.token
        requests = sum(n for method, n in emulator.requests().items() if "Session" not in method)
        renewed = sum(job.lease.token != old for job, old in zip(batch, first, strict=True))
    return [
        at_least(f"leases renewed of {LEASES}", renewed, "leases", LEASES),
        at_most(f"requests a beat to renew {LEASES} leases", requests / max(seen, 1), "requests", 1),
    ]
