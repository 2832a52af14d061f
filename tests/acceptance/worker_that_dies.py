"""Take one message, say so, and wait to be killed."""

from __future__ import annotations

import signal
import sys

from sqlalchemy import create_engine

from sqlalchemy_spanner_queues import Receiver
from sqlalchemy_spanner_queues.emulator.clients import make_engine
from tests.conformance.models import Job


def main(host: str, database: str) -> None:
    engine = make_engine(host, database) if host else create_engine(database)
    with Receiver(engine, Job) as receiver:
        for message in receiver:
            print(message.key, flush=True)
            signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
