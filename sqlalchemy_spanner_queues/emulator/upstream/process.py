"""Start the official emulator so that it ends with the gateway."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from sqlalchemy_spanner_queues.exc import EmulatorError

from . import watchdog
from .find import Upstream, answers

_ATTEMPTS: Final = 3
_POLL_SECONDS: Final = 0.02


class UpstreamProcess:
    """The official emulator, running at ``address``; ``stop`` ends it if it was started here."""

    def __init__(self, upstream: Upstream, start_timeout: float) -> None:
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._pid = 0
        if upstream.kind == "address":
            self.address = upstream.value
            return
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
            self._watchdog.wait(2 * watchdog.GRACE_SECONDS + 1.0)
        except subprocess.TimeoutExpired:
            self._watchdog.kill()
            self._watchdog.wait()
        # Only when the watchdog was killed can its command be left.
        if self._watchdog.returncode < 0:
            _kill(self._pid)

    def _start(self, upstream: Upstream, start_timeout: float) -> str:
        said = ""
        for _ in range(_ATTEMPTS):
            port = free_port()
            with tempfile.TemporaryFile() as errors:
                self._watchdog = _spawn(upstream, port, errors.fileno())
                self._pid = _read_pid(self._watchdog)
                # When another process took the port meanwhile, it ends, and the next attempt follows.
                if self._wait(f"localhost:{port}", start_timeout):
                    return f"localhost:{port}"
                self.stop()
                errors.seek(0)
                said = errors.read().decode(errors="replace")
        raise EmulatorError(f"the official emulator ({upstream.value}) did not start:\n{said}")

    def _wait(self, address: str, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while self.running and time.monotonic() < end:
            if answers(address):
                return self.running
            time.sleep(_POLL_SECONDS)
        return False


def free_port() -> int:
    """Return a TCP port that nobody uses right now."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port: int = probe.getsockname()[1]
        return port


def _spawn(upstream: Upstream, port: int, errors: int) -> subprocess.Popen[bytes]:
    watcher = [sys.executable, "-I", str(Path(watchdog.__file__))]
    command = [*watcher, *_command(upstream, port)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
    )


def _command(upstream: Upstream, port: int) -> list[str]:
    # The emulator makes room by aborting the current transaction now and then; here they queue instead.
    never_abort = "--abort_current_transaction_probability=0"
    if upstream.kind == "binary":
        return ["--", upstream.value, f"--host_port=localhost:{port}", never_abort]
    docker = shutil.which("docker") or "docker"
    name = f"spanner-queues-{secrets.token_hex(6)}"
    run = [docker, "run", "--rm", "--name", name, "-p", f"127.0.0.1:{port}:9010", upstream.value]
    return ["--cleanup", f"{docker} rm -f {name}", "--", *run]


def _read_pid(process: subprocess.Popen[bytes]) -> int:
    line = process.stdout.readline() if process.stdout else b""
    return int(line) if line.strip().isdigit() else 0


def _kill(pid: int) -> None:
    if pid:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
