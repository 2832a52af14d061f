"""Run a worker in a thread of a benchmark, and wait for what it has to do."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy_spanner_queues import Worker

PATIENCE_SECONDS = 120.0
LOOK_SECONDS = 0.01


@contextmanager
def running(worker: Worker) -> Generator[None]:
    thread = threading.Thread(target=worker.run, name="benchmark")
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()


def finished(worker: Worker, messages: int) -> None:
    """Wait until so many messages have succeeded."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while worker.counters().get("message.succeeded", 0) < messages:
        if time.monotonic() > ends:
            raise TimeoutError(f"not {messages} messages, but {worker.counters()}")
        # Far shorter than what is measured; a listener would slow down every message.
        time.sleep(LOOK_SECONDS)
