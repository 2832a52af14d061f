"""What the clock on the wall must show: these tests take as long as the leases that they are about.

Both engines work side by side, so that the waiting is done once.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Receiver
from tests.conformance.engines import World, emulator_world
from tests.conformance.helpers import count, send_jobs, take_one
from tests.conformance.models import Base, Job, User

LONG_WORK_SECONDS = 25.0
BACK_WITHIN_SECONDS = 11.0


@pytest.fixture
def worlds(emulator: Any, tmp_path: Path) -> list[World]:
    emulator.reset()
    engine = create_engine(f"sqlite:///{tmp_path / 'queues.db'}")
    both = [World("sqlite-file", engine, lambda _seconds: None), emulator_world(emulator)]
    for world in both:
        world.create(Base.metadata)
        send_jobs(world, "a")
    return both


def is_silent(receiver: Receiver[Job], seconds: float) -> bool:
    """Tell whether a receiver is given nothing for that long; it is stopped afterwards."""
    timer = threading.Timer(seconds, receiver.stop)
    timer.start()
    arrived = list(receiver)
    timer.cancel()
    return not arrived


def side_by_side(worlds: list[World], check: Callable[[World], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(worlds)) as pool:
        return list(pool.map(check, worlds))


def test_a_handler_that_takes_25_seconds_is_delivered_once(worlds: list[World]) -> None:
    def check(world: World) -> None:
        with Receiver(world.engine, Job) as receiver, Receiver(world.engine, Job) as other:
            message = take_one(receiver)
            with receiver.processing(message) as session:
                assert is_silent(other, LONG_WORK_SECONDS)
                assert not message.lease.lost.is_set()
                session.add(User(user_id=1))
        assert [count(world, model) for model in (User, Job)] == [1, 0]

    side_by_side(worlds, check)


def test_the_message_of_a_killed_process_comes_back_within_11_seconds(worlds: list[World]) -> None:
    def check(world: World) -> float:
        is_sqlite = world.kind != "emulator"
        url = world.engine.url
        where = ["", str(url)] if is_sqlite else [world.emulator.host, url.database or ""]
        command = [sys.executable, "-m", "tests.acceptance.worker_that_dies", *where]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline().strip() == "a"
            worker.kill()
        killed = time.monotonic()
        with Receiver(world.engine, Job) as receiver:
            message = take_one(receiver, timeout=BACK_WITHIN_SECONDS)
            back_after = time.monotonic() - killed
            with receiver.processing(message):
                pass
        assert count(world, Job) == 0
        return back_after

    assert max(side_by_side(worlds, check)) <= BACK_WITHIN_SECONDS


def test_stop_in_the_middle_of_silence_returns_within_2_seconds(worlds: list[World]) -> None:
    def check(world: World) -> float:
        with Session(world.engine) as session, session.begin():
            session.delete(session.get_one(Job, "a"))
        receiver = Receiver(world.engine, Job)
        ended = threading.Event()
        loop = threading.Thread(target=lambda: (list(receiver), ended.set()))
        loop.start()
        started = threading.Event()
        started.wait(0.5)
        before = time.monotonic()
        receiver.stop()
        assert ended.wait(2.0)
        return time.monotonic() - before

    assert max(side_by_side(worlds, check)) <= 2.0
    assert [thread for thread in threading.enumerate() if thread.name.startswith("spanner-queues")] == []
