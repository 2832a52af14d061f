"""A waiting receiver on a SQLite file: how soon it wakes, and how little it does meanwhile."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Receiver

from .figures import Figure, at_most, percentile
from .models import Base, Job, new_job

PATIENCE_SECONDS = 20.0
QUIET_SECONDS = 0.08

# A monotonic clock that counts from the same moment in all processes of the machine.
now = time.monotonic


def run(smoke: bool) -> list[Figure]:
    messages, idle_seconds = (20, 2.0) if smoke else (200, 25.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "queue.db"
        engine = create_engine(f"sqlite:///{path}")
        Base.metadata.create_all(engine)
        near = waits(engine, messages, lambda: commit(engine))
        with other_process(path) as commit_there:
            far = waits(engine, messages, commit_there)
        statements, cpu = idling(engine, idle_seconds)
        engine.dispose()
    return [
        at_most("commit to message, same process, p95", percentile(near, 0.95), "ms", 5),
        at_most("commit to message, other process, p95", percentile(far, 0.95), "ms", 100),
        # A change that was looked at too soon, and then missed, shows here.
        at_most("commit to message, other process, slowest", max(far), "ms", 1000),
        at_most("statements of a waiting receiver", statements, "1/s", 0.1),
        at_most("CPU of a waiting receiver", cpu * 100, "%", 1),
    ]


def commit(engine: Engine) -> float:
    """Send a message and return when the commit had returned."""
    with Session(engine) as session, session.begin():
        session.add(new_job())
    return now()


@contextmanager
def receiving(engine: Engine) -> Generator[SimpleQueue[float]]:
    """Receive and acknowledge in a thread; each arrival's time is put into the queue."""
    arrived: SimpleQueue[float] = SimpleQueue()
    receiver = Receiver(engine, Job)

    def receive() -> None:
        for message in receiver:
            at = now()
            with receiver.processing(message):
                pass
            arrived.put(at)

    thread = threading.Thread(target=receive, name="benchmark")
    thread.start()
    try:
        yield arrived
    finally:
        receiver.stop()
        thread.join()


def waits(engine: Engine, messages: int, commit_one: Callable[[], float]) -> list[float]:
    """Return the milliseconds from the return of each commit to its message."""
    taken: list[float] = []
    with receiving(engine) as arrived:
        for _ in range(messages):
            # At no fixed distance, so as not to fall in step with anything.
            time.sleep(QUIET_SECONDS * random.uniform(0.5, 1.5))
            committed = commit_one()
            taken.append(max(arrived.get(timeout=PATIENCE_SECONDS) - committed, 0.0) * 1000)
    return taken


@contextmanager
def other_process(path: Path) -> Generator[Callable[[], float]]:
    command = [sys.executable, "-m", "benchmarks.sqlite_wake", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        send, answer = process.stdin, process.stdout

        def commit_there() -> float:
            send.write("\n")
            send.flush()
            return float(answer.readline())

        yield commit_there
        send.close()


def idling(engine: Engine, seconds: float) -> tuple[float, float]:
    """Return the statements a second, and the share of one CPU, of a receiver with nothing to do."""
    statements: list[str] = []

    def note(*arguments: Any) -> None:
        statements.append(arguments[2])

    with receiving(engine):
        time.sleep(0.5)
        # On the class: the receiver has an engine of its own.
        event.listen(Engine, "before_cursor_execute", note)
        cpu, started = time.process_time(), now()
        time.sleep(seconds)
        elapsed = now() - started
        event.remove(Engine, "before_cursor_execute", note)
        return len(statements) / elapsed, (time.process_time() - cpu) / elapsed


def main(path: str) -> None:
    engine = create_engine(f"sqlite:///{path}")
    for _ in sys.stdin:
        print(repr(commit(engine)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
