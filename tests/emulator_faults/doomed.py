"""A client that does one thing, says so, and waits to be killed.

::

    python -m tests.emulator_faults.doomed write HOST PATH      # acknowledges message 1, and never commits
    python -m tests.emulator_faults.doomed receive HOST PATH    # receives a batch
"""

from __future__ import annotations

import signal
import sys
from typing import Any

from sqlalchemy_spanner_queues.emulator.clients import make_client

ACKNOWLEDGE = "DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1"


def main(verb: str, host: str, path: str) -> None:
    database = make_client(host).instance(path.split("/")[3]).database(path.rsplit("/", 1)[1])
    {"write": write, "receive": receive}[verb](database)


def write(database: Any) -> None:
    def work(transaction: Any) -> None:
        transaction.execute_update(ACKNOWLEDGE)
        wait()

    database.run_in_transaction(work)


def receive(database: Any) -> None:
    with database.snapshot() as snapshot:
        for _ in snapshot.execute_sql("SELECT * FROM RECEIVE_q()"):
            wait()


def wait() -> None:
    print("ready", flush=True)
    signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
