"""The memory of a receiver stays the same, however many messages pass through it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Receiver, acknowledge

from .figures import Figure, at_most, report
from .models import Base, Job, send_jobs

BATCH = 100
LIMIT_MB = 5.0


def run(smoke: bool) -> list[Figure]:
    messages = 20_000 if smoke else 200_000
    with tempfile.TemporaryDirectory() as folder:
        # A process of its own: nothing that another benchmark left behind is measured.
        command = [sys.executable, "-m", "benchmarks.memory", str(Path(folder) / "queue.db"), str(messages)]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    sizes = [float(size) for size in answer.split()]
    return [
        report(f"memory after the first tenth of {messages:,} messages", sizes[0], "MB"),
        at_most("growth after the first tenth", max(sizes) - sizes[0], "MB", LIMIT_MB),
    ]


def sizes_while_receiving(engine: Engine, messages: int) -> list[float]:
    """Receive and acknowledge all, batch by batch; return the megabytes after each tenth."""
    sizes: list[float] = []
    done = 0
    with Receiver(engine, Job, max_batch_size=BATCH) as receiver:
        for batch in receiver.batches():
            with Session(engine) as session, session.begin():
                acknowledge(session, *batch)
            done += len(batch)
            if done >= (len(sizes) + 1) * messages / 10:
                gc.collect()
                sizes.append(resident_megabytes())
            if done >= messages:
                break
    return sizes


def resident_megabytes() -> float:
    answer = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(os.getpid())], check=True, stdout=subprocess.PIPE, text=True
    )
    return int(answer.stdout) / 1024


def main(path: str, messages: int) -> None:
    engine = create_engine(f"sqlite:///{path}")
    Base.metadata.create_all(engine)
    send_jobs(engine, messages)
    print(*sizes_while_receiving(engine, messages))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
