"""Nothing is left running, whatever ends the owner, the gateway or the watchdog."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from sqlalchemy_spanner_queues.cli import main
from sqlalchemy_spanner_queues.emulator import Emulator, find_emulator
from sqlalchemy_spanner_queues.emulator.upstream import find
from sqlalchemy_spanner_queues.emulator.upstream.probe import answers, is_gateway
from sqlalchemy_spanner_queues.exc import EmulatorError, EmulatorNotFound
from tests.emulator.helpers import TIMEOUT_SECONDS

OWNER = """
import sys
from sqlalchemy_spanner_queues.emulator import Emulator
with Emulator() as emulator:
    print(emulator.host, emulator.upstream, emulator.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _needs_an_emulator(emulator: Emulator) -> None:
    """Skip like every other test when there is none."""


def wait_until_closed(address: str) -> None:
    """Wait until nobody listens any more; the end of a connection tells, not a clock."""
    host, port = address.split(":")
    while True:
        try:
            connection = socket.create_connection((host, int(port)), TIMEOUT_SECONDS)
        except ConnectionRefusedError:
            return
        with connection, suppress(ConnectionResetError):
            while connection.recv(4096):
                pass


class Owned:
    """A process that owns an emulator, and what it started."""

    owner = OWNER

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.owner], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.host, self.upstream, gateway = self.process.stdout.readline().split()
        self.gateway = int(gateway)

    def all_gone(self) -> None:
        watchers = [
            threading.Thread(target=wait_until_closed, args=(address,))
            for address in (self.host, self.upstream)
        ]
        for watcher in watchers:
            watcher.start()
        for watcher in watchers:
            watcher.join(TIMEOUT_SECONDS)
            assert not watcher.is_alive()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def owned() -> Owned:
    return Owned()


def test_a_killed_owner_leaves_nothing(owned: Owned) -> None:
    owned.process.kill()
    owned.all_gone()
    owned.close()


def test_a_killed_gateway_leaves_nothing(owned: Owned) -> None:
    os.kill(owned.gateway, signal.SIGKILL)
    owned.all_gone()
    owned.close()


def children_of(process: int) -> list[int]:
    """Return the direct children, where the system lists them as files."""
    listed = Path(f"/proc/{process}/task/{process}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


@pytest.mark.skipif(sys.platform != "linux", reason="finds the watchdog in /proc")
def test_a_killed_watchdog_takes_the_gateway_along(owned: Owned) -> None:
    (watchdog,) = children_of(owned.gateway)
    os.kill(watchdog, signal.SIGKILL)
    owned.all_gone()
    owned.close()


@pytest.mark.skipif(sys.platform != "linux", reason="finds the watchdog in /proc")
def test_gateway_and_watchdog_killed_together(owned: Owned) -> None:
    (watchdog,) = children_of(owned.gateway)
    for process in (watchdog, owned.gateway):
        os.kill(process, signal.SIGKILL)
    owned.all_gone()
    owned.close()


def test_leaving_the_with_statement_ends_everything() -> None:
    with Emulator() as emulator:
        addresses = [emulator.host, emulator.upstream]
        assert all(answers(address) for address in addresses)
    assert not any(answers(address) for address in addresses)
    with pytest.raises(EmulatorError, match="not running"):
        assert emulator.host


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_stops_by_signal(number: int) -> None:
    command = [sys.executable, "-m", "sqlalchemy_spanner_queues", "emulator", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ready, address = process.stdout.readline().split()
    assert ready == "ready"
    assert is_gateway(address)
    process.send_signal(number)
    rest, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, rest) == (0, "")
    assert not answers(address)


def test_a_taken_port_is_an_error_with_its_reason() -> None:
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        taken.listen()
        with pytest.raises(EmulatorError, match="is taken"), Emulator(port=taken.getsockname()[1]):
            pass


def test_the_environment_is_as_before(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANNER_EMULATOR_HOST", "localhost:1")
    with emulator.create_engine().connect():
        assert os.environ["SPANNER_EMULATOR_HOST"] == "localhost:1"


def test_a_running_emulator_is_found_first(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    running = emulator.upstream
    monkeypatch.setenv("SPANNER_EMULATOR_HOST", running)
    found = find_emulator()
    assert found is not None
    assert (found.kind, found.value) == ("address", running)


def test_a_gateway_is_not_taken_for_the_official_emulator(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANNER_EMULATOR_HOST", emulator.host)
    found = find_emulator()
    assert found is None or found.kind != "address"


def test_without_any_emulator_the_three_ways_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SPANNER_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CLOUDSDK_ROOT_DIR", raising=False)
    monkeypatch.setattr(find, "_SDK_PLACES", ())
    assert find_emulator() is None
    with pytest.raises(EmulatorNotFound, match="gcloud components install"), Emulator():
        pass
    assert main(["emulator", "--port", "0"]) == 1
    said = capsys.readouterr().err
    assert all(way in said for way in ("SPANNER_EMULATOR_HOST", "gcloud", "Docker"))
