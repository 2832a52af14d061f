"""The gateway as a process of its own, which ends when its owner does, whatever ends the owner."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import IO, Final

from sqlalchemy_spanner_queues.exc import EmulatorError

_STOP_SECONDS: Final = 20.0
# The gateway itself says why it does not start; only one that says nothing is ended from here.
_MORE_START_SECONDS: Final = 10.0
_VARIABLES: Final = "SPANNER_QUEUES_EMULATOR_"


class GatewayProcess:
    """A running ``spanner-queues emulator``: clients come to ``host``, and the controls are at ``admin_url``.

    ``flags`` are those of the command; ``start_timeout`` is in seconds.

    Raises EmulatorError with what it said when it does not start.
    """

    def __init__(self, flags: Sequence[str], start_timeout: float) -> None:
        self.host = self.admin_url = ""
        command = [sys.executable, "-m", "sqlalchemy_spanner_queues", "emulator", "--exit-with-stdin"]
        command += [*flags, "--start-timeout", str(start_timeout)]
        with tempfile.TemporaryFile() as errors:
            self._process = _spawn(command, errors)
            self._wait_until_ready(start_timeout + _MORE_START_SECONDS, admin="--rest-port" in flags)
            if not self.host:
                self.stop()
                errors.seek(0)
                raise EmulatorError(f"the gateway did not start:\n{errors.read().decode(errors='replace')}")

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def stop(self) -> None:
        """Stop it, and wait until it and the emulator behind it are gone."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _wait_until_ready(self, seconds: float, *, admin: bool) -> None:
        # A gateway that hangs is killed, which ends the lines that are waited for.
        killer = threading.Timer(seconds, self._process.kill)
        killer.start()
        try:
            self.host = self._read("ready ")
            if admin and self.host:
                self.admin_url = self._read("admin ")
        finally:
            killer.cancel()

    def _read(self, word: str) -> str:
        line = self._process.stdout.readline().decode() if self._process.stdout else ""
        return line.removeprefix(word).strip() if line.startswith(word) else ""


def _spawn(command: list[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    # The flags say all there is to say; nothing comes from the owner's environment in addition.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_VARIABLES)}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,
        env=environment,
    )
