"""Send the tasks of a soak at an even pace, each exactly once, whatever becomes of a commit's answer."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from google.api_core.exceptions import GoogleAPICallError
from google.cloud.spanner_v1.data_types import JsonObject

from .models import IN_A_WARD, WARDS

# The official emulator is slow in large transactions.
MOST_AT_ONCE = 100
PAUSE_SECONDS = 0.2
SINGLE_SHARE = 0.05
# It is slow in large tables as well.
MOST_WAITING = 200


class Producer:
    """Send in a thread of its own; ``error`` is what it died of."""

    def __init__(self, database: Any, messages: int, seconds: float, luck: random.Random) -> None:
        self._database = database
        self._messages = messages
        self._seconds = seconds
        self._luck = luck
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="producer", daemon=True)
        self.sent = 0
        self.without_answer = 0
        self.error: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._send_all()
        except BaseException as error:  # noqa: BLE001 - raised by whoever waits for it
            self.error = error

    def _send_all(self) -> None:
        started = time.monotonic()
        while self.sent < self._messages and not self._stopped.wait(PAUSE_SECONDS):
            share = min((time.monotonic() - started) / self._seconds, 1.0)
            left = IN_A_WARD - self.sent % IN_A_WARD
            due = min(round(share * self._messages) - self.sent, MOST_AT_ONCE, left)
            ward = self.sent // IN_A_WARD % len(WARDS)
            if due > 0 and self._count(f"SELECT COUNT(*) FROM Tasks{ward:02}") < MOST_WAITING:
                self._send(ward, self.sent, due)
                self.sent += due

    def _send(self, ward: int, sending: int, size: int) -> None:
        """Send with a row in the same commit, which tells afterwards whether it was applied."""
        rows = [self._task() for _ in range(size)]
        applied = f"SELECT COUNT(*) FROM Sendings{ward:02} WHERE SendingId = {sending:d}"
        while not self._stopped.is_set():
            try:
                with self._database.batch() as batch:
                    batch.insert(f"Sendings{ward:02}", ["SendingId"], [(sending,)])
                    batch.insert(f"Tasks{ward:02}", ["TaskId", "Payload"], rows)
            except GoogleAPICallError:
                self.without_answer += 1
                if not self._count(applied):
                    continue
            return

    def _task(self) -> Sequence[object]:
        kind = "single" if self._luck.random() < SINGLE_SHARE else "batch"
        key = UUID(int=self._luck.getrandbits(128), version=4)
        return str(key), JsonObject({"kind": kind, "sent_at": time.time()})

    def _count(self, sql: str) -> int:
        while not self._stopped.wait(PAUSE_SECONDS):
            try:
                with self._database.snapshot() as snapshot:
                    return int(next(iter(snapshot.execute_sql(sql)))[0])
            except GoogleAPICallError:
                continue
        return 0
