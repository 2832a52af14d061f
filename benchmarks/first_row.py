"""Promptness on the emulator: from a commit's return to the message in the user's hands."""

from __future__ import annotations

import statistics
import threading
import time
from queue import SimpleQueue

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Receiver
from sqlalchemy_spanner_queues.emulator import Emulator

from .figures import Figure, at_most, percentile
from .models import Base, Job, new_job

LIMIT_MS = 50.0
PATIENCE_SECONDS = 20.0


def run(smoke: bool) -> list[Figure]:
    rounds, messages = (2, 10) if smoke else (4, 50)
    taken: dict[bool, list[float]] = {True: [], False: []}
    with Emulator() as emulator:
        engine = emulator.create_engine()
        Base.metadata.create_all(engine)
        for _ in range(rounds):
            for resume_tokens, waits in taken.items():
                emulator.reset()
                if not resume_tokens:
                    emulator.inject(
                        "ExecuteStreamingSql", code=None, times=1000, match="RECEIVE_", resume_tokens=False
                    )
                waits += commit_to_hands(engine, messages)
        engine.dispose()
    figures: list[Figure] = []
    for resume_tokens, waits in taken.items():
        name = f"commit to message, {'with' if resume_tokens else 'without'} resume tokens"
        figures.append(at_most(f"{name}, median", statistics.median(waits), "ms", LIMIT_MS))
        figures.append(at_most(f"{name}, p95", percentile(waits, 0.95), "ms", LIMIT_MS))
    return figures


def commit_to_hands(engine: Engine, messages: int) -> list[float]:
    """Send one message after another to a waiting receiver; return the milliseconds that each took."""
    arrived: SimpleQueue[float] = SimpleQueue()
    finished: SimpleQueue[None] = SimpleQueue()
    receiver = Receiver(engine, Job)

    def receive() -> None:
        for message in receiver:
            arrived.put(time.perf_counter())
            with receiver.processing(message):
                pass
            finished.put(None)

    thread = threading.Thread(target=receive, name="benchmark")
    thread.start()
    waits: list[float] = []
    try:
        for at in range(messages + 1):
            with Session(engine) as session, session.begin():
                session.add(new_job())
            committed = time.perf_counter()
            wait = arrived.get(timeout=PATIENCE_SECONDS) - committed
            finished.get(timeout=PATIENCE_SECONDS)
            if at:  # the first one waits for the stream to open
                waits.append(max(wait, 0.0) * 1000)
    finally:
        receiver.stop()
        thread.join()
    return waits
