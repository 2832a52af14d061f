"""Start the official emulator so that it ends with the gateway."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy_spanner_queues.exc import EmulatorError

from ..log import LOGGER
from . import watchdog
from .find import IMAGE, Upstream
from .probe import PING_SECONDS, answers, speaks_spanner, speaks_within

_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class _Command:
    """What is run, and what is run when it has ended, however it has."""

    run: list[str]
    cleanup: list[str]


class UpstreamProcess:
    """The official emulator, running at ``address``; ``stop`` ends it if it was started here.

    Raises EmulatorError when it does not answer in time (seconds).
    """

    def __init__(self, upstream: Upstream, start_timeout: float) -> None:
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._command = _Command([], [])
        self._pid = 0
        if upstream.kind == "address":
            self.address = _running(upstream.value, start_timeout)
        else:
            self.address = self._start(upstream, start_timeout)

    @property
    def running(self) -> bool:
        """Whether it still runs, as far as is known here."""
        return self._watchdog is None or self._watchdog.poll() is None

    def stop(self) -> None:
        """End the emulator and wait until it is gone."""
        if self._watchdog is None:
            return
        if self._watchdog.stdin is not None:
            self._watchdog.stdin.close()
        try:
            self._watchdog.wait(2 * watchdog.GRACE_SECONDS + watchdog.CLEANUP_SECONDS)
        except subprocess.TimeoutExpired:
            self._watchdog.kill()
            self._watchdog.wait()
        # Only when the watchdog was killed can there be something left of its command.
        if self._watchdog.returncode < 0:
            _kill(self._pid)
            watchdog.clean_up(self._command.cleanup)

    def _start(self, upstream: Upstream, start_timeout: float) -> str:
        end = time.monotonic() + start_timeout
        said = ""
        for _ in range(_ATTEMPTS):
            port = free_port()
            with tempfile.TemporaryFile() as errors:
                self._command = _command(upstream, port)
                self._watchdog = _spawn(self._command, errors.fileno())
                self._pid = _read_pid(self._watchdog)
                left = end - time.monotonic()
                if speaks_within(f"localhost:{port}", left, lambda: self.running):
                    return f"localhost:{port}"
                # When another process took the port meanwhile it ends, and the next attempt follows.
                ended = not self.running
                self.stop()
                errors.seek(0)
                said = errors.read().decode(errors="replace")
            if not ended:
                break
        raise EmulatorError(_did_not_start(upstream, said))


def _did_not_start(upstream: Upstream, said: str) -> str:
    text = f"the official emulator ({upstream.value}) did not start; it said:\n{said.strip() or '(nothing)'}"
    if upstream.kind == "docker":
        text += f"\nif its image is still on the way: docker pull {IMAGE}, or a longer start timeout"
    return text


def _running(address: str, start_timeout: float) -> str:
    if speaks_spanner(address, min(start_timeout, PING_SECONDS)):
        return address
    LOGGER.warning("waiting for the official emulator at %s, at most %g s", address, start_timeout)
    if speaks_within(address, start_timeout, lambda: True):
        return address
    if answers(address):
        raise EmulatorError(
            f"something listens at {address}, but it does not speak Spanner's gRPC: name the emulator's gRPC"
            " port (9010 unless it was told otherwise), not its REST port (9020)"
        )
    raise EmulatorError(
        f"nothing answers at {address}: start the official emulator there, or name no upstream to have one"
        " found and started"
    )


def free_port() -> int:
    """Return a TCP port that nobody uses right now."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port: int = probe.getsockname()[1]
        return port


def _spawn(command: _Command, errors: int) -> subprocess.Popen[bytes]:
    watcher = [sys.executable, "-I", str(Path(watchdog.__file__))]
    if command.cleanup:
        watcher += ["--cleanup", shlex.join(command.cleanup)]
    arguments = [*watcher, "--", *command.run]
    return subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
    )


def _command(upstream: Upstream, port: int) -> _Command:
    if upstream.kind == "binary":
        # The emulator makes room by aborting the current transaction now and then; here they queue instead.
        never_abort = "--abort_current_transaction_probability=0"
        return _Command([upstream.value, f"--host_port=localhost:{port}", never_abort], [])
    docker = shutil.which("docker") or "docker"
    name = f"spanner-queues-{secrets.token_hex(6)}"
    run = [docker, "run", "--rm", "--name", name, "-p", f"127.0.0.1:{port}:9010", upstream.value]
    return _Command(run, [docker, "rm", "--force", name])


def _read_pid(process: subprocess.Popen[bytes]) -> int:
    line = process.stdout.readline() if process.stdout else b""
    return int(line) if line.strip().isdigit() else 0


def _kill(pid: int) -> None:
    if pid:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
