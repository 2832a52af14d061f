"""Worker processes: started by the command, listened to, and ended by signals."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.worker_faults.environment import DATABASE, HOST
from tests.worker_faults.ground import Ground

ROOT = Path(__file__).parents[2]
# Python and the client of Spanner take seconds to load on a busy machine.
TIMEOUT_SECONDS = 30.0


class Process:
    """A worker's process, and the lines that it has written so far on either output."""

    def __init__(self, popen: subprocess.Popen[str]) -> None:
        self._popen = popen
        self._changed = threading.Condition()
        self.lines: list[str] = []
        assert popen.stdout is not None
        assert popen.stderr is not None
        self._readers = [
            threading.Thread(target=self._read, args=[pipe], daemon=True)
            for pipe in (popen.stdout, popen.stderr)
        ]
        for reader in self._readers:
            reader.start()

    def wait_for(self, text: str, times: int = 1) -> str:
        """Wait until so many lines have this in them, and return the last."""
        with self._changed:
            told = self._changed.wait_for(lambda: len(self.told(text)) >= times, TIMEOUT_SECONDS)
            assert told, f"{text!r} is not among {self.lines}"
            return self.told(text)[times - 1]

    def told(self, text: str) -> list[str]:
        return [line for line in self.lines if text in line]

    def write(self, line: str = "") -> None:
        assert self._popen.stdin is not None
        self._popen.stdin.write(line + "\n")
        self._popen.stdin.flush()

    def signal(self, number: int) -> None:
        self._popen.send_signal(number)

    def ends(self, timeout: float = TIMEOUT_SECONDS) -> int:
        """Wait for the end, and return the exit code; a negative one is a signal's number."""
        code = self._popen.wait(timeout)
        for reader in self._readers:
            reader.join(timeout)
        return code

    def _read(self, pipe: IO[str]) -> None:
        for line in pipe:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()


@contextmanager
def started(
    ground: Ground, name: str, *flags: str, path: str | None = None, environment: Mapping[str, str] = {}
) -> Iterator[Process]:
    """Run ``spanner-queues worker`` with a worker of workers.py, and kill what is left of it."""
    place = f"tests.worker_faults.workers:{name}"
    command = [sys.executable, "-m", "sqlalchemy_spanner_queues", "worker", place, *flags]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, HOST: ground.emulator.host, DATABASE: path or ground.path, **environment},
    ) as popen:
        try:
            yield Process(popen)
        finally:
            popen.kill()
