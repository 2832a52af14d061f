"""Clients, gateways and official emulators that are killed with SIGKILL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from google.api_core.exceptions import GoogleAPICallError

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator.clients import Databases, make_client
from tests.conformance.helpers import Running
from tests.emulator.helpers import ID, TIMEOUT_SECONDS, Session
from tests.emulator.test_process import children_of
from tests.emulator.words import GOOGLESQL
from tests.emulator_faults.promises import LEASE_SECONDS, SCHEMAS, Scene, assert_promises
from tests.emulator_faults.views import View

SILENCE_SECONDS = 5.0


@contextmanager
def doomed(verb: str, scene: Scene) -> Iterator[None]:
    """Let a client of its own process come so far as its verb says, and kill it."""
    command = [sys.executable, "-m", "tests.emulator_faults.doomed", verb, scene.emulator.host, scene.path]
    with started(command) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a command, and kill it afterwards."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def test_client_killed_in_a_transaction(scene: Scene) -> None:
    """A client is killed while its transaction is open, with an acknowledgment in it.

    client: no error; 1 ExecuteSql, 1 Commit
    queue: what another client does meanwhile, within 5 seconds; nothing of the killed one
    receiver: the message again after its lease
    """
    scene.send(1)
    scene.receiver_gets(1)
    with doomed("write", scene):
        pass
    scene.client_sees(lambda: Running(lambda: scene.send(2)).result(SILENCE_SECONDS))
    scene.queue_holds(1, 2)
    scene.emulator.advance(LEASE_SECONDS)
    scene.receiver_gets(1, 2)
    assert_promises(scene)


def test_client_killed_in_a_stream(scene: Scene) -> None:
    """A client is killed while it receives.

    client: no error; 1 ExecuteSql, 1 Commit
    queue: all messages, leased to the killed client
    receiver: what another client sends now at once, the rest again after the leases
    """
    scene.send(1, 2)
    with doomed("receive", scene):
        pass
    scene.client_sees(scene.send, 3)
    scene.receiver_gets(3)
    scene.emulator.advance(LEASE_SECONDS)
    scene.receiver_gets(1, 2, 3)
    assert_promises(scene)


def test_gateway_killed(emulator: Emulator, view: View) -> None:
    """The gateway is killed, with a transaction open, and another one starts before the same emulator.

    client: ServiceUnavailable
    queue: all messages
    receiver: what was leased again at once
    """
    path = emulator.create_database(statements=SCHEMAS["googlesql"])
    with Emulator(upstream=emulator.upstream) as first:
        scene = Scene(first, path, GOOGLESQL, view, make_client(first.host))
        scene.send(1, 2, 3)
        scene.receiver_gets(1, 2, 3)
        scene.acknowledge(3)
        with scene.session.receive() as received, doomed("write", scene):
            os.kill(first.pid, signal.SIGKILL)
            error = received.end()
    assert type(error).__name__ == view.client
    with Emulator(upstream=emulator.upstream) as second:
        scene = scene.at(second)
        scene.queue_holds(1, 2)
        scene.receiver_gets(1, 2)
        assert_promises(scene)


@pytest.mark.skipif(sys.platform != "linux", reason="finds the official emulator in /proc")
def test_official_emulator_killed(emulator: Emulator, view: View) -> None:
    """The official emulator is killed.

    client: ServiceUnavailable
    queue: nothing: the official emulator keeps everything in memory
    receiver: the stream ends; the gateway ends as well, with status 1, and says why
    """
    assert emulator is not None  # skips where there is no official emulator
    with started([sys.executable, "-m", "sqlalchemy_spanner_queues", "emulator", "--port", "0"]) as gateway:
        assert gateway.stdout is not None
        client = make_client(gateway.stdout.readline().split()[1])
        session = Session(
            emulator, Databases(client, TIMEOUT_SECONDS).make(False, SCHEMAS["googlesql"]), client
        )
        session.send(1)
        with session.receive() as received:
            assert received.next()[ID] == 1
            kill_official_emulator(gateway.pid)
            errors = {type(received.end()).__name__, error_of_a_request(session)}
        _, said = gateway.communicate(timeout=TIMEOUT_SECONDS)
        errors.add(error_of_a_request(session))
    assert errors == {view.client}
    assert "the official emulator has ended; the gateway ends with it" in said
    assert gateway.returncode == 1


def kill_official_emulator(gateway: int) -> None:
    (watchdog,) = children_of(gateway)
    (official,) = children_of(watchdog)
    os.kill(official, signal.SIGKILL)


def error_of_a_request(session: Session) -> str:
    """Make a request without the client's own repetitions, which go on for minutes."""
    request = session.request("SELECT 1")
    with pytest.raises(GoogleAPICallError) as raised:
        session.db.spanner_api.execute_sql(request, retry=None, timeout=TIMEOUT_SECONDS)
    return raised.type.__name__
