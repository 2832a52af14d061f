"""``spanner-queues emulator``: its flags, their environment variables, what it prints and logs."""

from __future__ import annotations

import argparse
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sqlalchemy_spanner_queues.cli import main
from sqlalchemy_spanner_queues.cli.emulator import add_parser
from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator.clients import make_client
from sqlalchemy_spanner_queues.exc import EmulatorError
from tests.emulator.conftest import SCHEMA
from tests.emulator.helpers import TIMEOUT_SECONDS, TOKEN, Session

COMMAND = (sys.executable, "-m", "sqlalchemy_spanner_queues", "emulator")
PREFIX = "SPANNER_QUEUES_EMULATOR_"


def parse(*arguments: str) -> dict[str, object]:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    parsed = vars(parser.parse_args(["emulator", *arguments]))
    del parsed["run"]
    return parsed


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)


DEFAULTS = {
    "port": 9010,
    "rest_port": None,
    "host": "localhost",
    "upstream": "",
    "docker": False,
    "start_timeout": 30.0,
    "verbose": False,
    "exit_with_stdin": False,
}
GIVEN = {
    "port": ("0", 0),
    "rest_port": ("9020", 9020),
    "host": ("127.0.0.1", "127.0.0.1"),
    "upstream": ("localhost:9011", "localhost:9011"),
    "docker": ("yes", True),
    "start_timeout": ("2.5", 2.5),
    "verbose": ("1", True),
    "exit_with_stdin": ("on", True),
}


def test_defaults() -> None:
    assert parse() == DEFAULTS


@pytest.mark.parametrize("name", GIVEN)
def test_every_flag_has_a_variable_and_wins_over_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, value = GIVEN[name]
    flag = "--" + name.replace("_", "-")
    monkeypatch.setenv(PREFIX + name.upper(), text)
    assert parse() == DEFAULTS | {name: value}
    monkeypatch.delenv(PREFIX + name.upper())
    assert parse(f"{flag}={text}") == DEFAULTS | {name: value}


def test_a_flag_wins_over_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("PORT", "9999"), ("DOCKER", "1"), ("VERBOSE", "0")):
        monkeypatch.setenv(PREFIX + name, text)
    parsed = parse("--port", "1234", "--docker=no", "--verbose", "--exit-with-stdin")
    expected = {"port": 1234, "docker": False, "verbose": True, "exit_with_stdin": True}
    assert parsed == DEFAULTS | expected


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("PORT", "many", "'many' is no port"),
        ("PORT", "65536", "'65536' is no port"),
        ("REST_PORT", "-1", "'-1' is no port"),
        ("START_TIMEOUT", "0", "'0' is no time"),
        ("START_TIMEOUT", "nan", "'nan' is no time"),
        ("START_TIMEOUT", "soon", "'soon' is no time"),
        ("DOCKER", "perhaps", "'perhaps' is neither yes nor no"),
    ],
)
def test_wrong_values_are_wrong_usage(
    variable: str, text: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(PREFIX + variable, text)
    with pytest.raises(SystemExit) as raised:
        main(["emulator"])
    assert raised.value.code == 2
    assert said in capsys.readouterr().err


def test_an_address_and_an_image_are_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["emulator", "--docker", "--upstream", "localhost:1"]) == 2
    monkeypatch.setenv(PREFIX + "DOCKER", "true")
    assert main(["emulator", "--upstream", "localhost:1"]) == 2
    assert capsys.readouterr().err.count("choose one of them") == 2
    with pytest.raises(EmulatorError, match="choose one of them"):
        Emulator(upstream="localhost:1", docker=True)


@contextmanager
def listening() -> Iterator[str]:
    """Something that listens and does not speak Spanner's gRPC: it says nothing at all."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        listener.listen()
        yield f"localhost:{listener.getsockname()[1]}"


def test_an_upstream_that_is_not_there_is_told_soon(capsys: pytest.CaptureFixture[str]) -> None:
    with listening() as address:
        pass
    assert main(["emulator", "--port", "0", "--upstream", address, "--start-timeout", "0.2"]) == 1
    assert f"nothing answers at {address}: start the official emulator there" in capsys.readouterr().err


def test_an_upstream_that_is_something_else_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with listening() as address:
        assert main(["emulator", "--port", "0", "--upstream", address, "--start-timeout", "0.2"]) == 1
    assert f"something listens at {address}, but it does not speak" in capsys.readouterr().err


def test_ctrl_c_while_it_waits_is_no_traceback() -> None:
    with listening() as address:
        command = [*COMMAND, "--port", "0", "--upstream", address]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        assert f"waiting for the official emulator at {address}, at most 30 s" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, said) == (1, "spanner-queues: stopped before the emulator was ready\n")


def test_the_owner_hears_why_it_did_not_start() -> None:
    with listening() as address:
        pass
    with pytest.raises(EmulatorError, match=f"nothing answers at {address}"):
        Emulator(upstream=address, start_timeout=0.2).start()


def test_the_owners_arguments_are_all_there_is(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIX + "UPSTREAM", "localhost:1")
    monkeypatch.setenv(PREFIX + "REST_PORT", "many")
    with Emulator(upstream=emulator.upstream) as started:
        assert started.upstream == emulator.upstream


class Running:
    """The command at work, in front of an official emulator that runs already."""

    def __init__(self, emulator: Emulator, *flags: str) -> None:
        command = [*COMMAND, "--port", "0", "--upstream", emulator.upstream, "--exit-with-stdin", *flags]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, **pipes)
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline()
        self.host = self.ready.split()[1]
        self._emulator = emulator

    def database(self) -> Session:
        path = self._emulator.create_database(statements=())
        made = Session(self._emulator, path, make_client(self.host))
        made.db.update_ddl(SCHEMA[-1:]).result(TIMEOUT_SECONDS)
        return made

    def stop(self) -> tuple[str, str]:
        """End it, and return what else it printed and said."""
        printed, said = self.process.communicate(timeout=TIMEOUT_SECONDS)
        assert self.process.returncode == 0
        return printed, said


def test_ready_is_the_first_and_only_line(emulator: Emulator) -> None:
    running = Running(emulator)
    running.database().send(1)
    printed, said = running.stop()
    assert re.fullmatch(r"ready localhost:\d+\n", running.ready)
    assert (printed, said) == ("", "")


def test_the_address_of_the_controls_is_the_second_line(emulator: Emulator) -> None:
    running = Running(emulator, "--rest-port", "0")
    printed, _ = running.stop()
    assert re.fullmatch(r"ready localhost:\d+\n", running.ready)
    assert re.fullmatch(r"admin http://localhost:\d+\n", printed)


def test_requests_and_messages_are_logged_when_asked(emulator: Emulator) -> None:
    running = Running(emulator, "--verbose")
    database = running.database()
    database.send(1)
    with database.receive() as received:
        database.renew(received.next()[TOKEN])
    _, said = running.stop()
    path = re.escape(database.path)
    for line in (
        rf"INFO UpdateDatabaseDdl {path} \d+\.\d ms OK",
        rf"INFO Commit {path} \d+\.\d ms OK",
        rf"INFO ExecuteStreamingSql {path} \d+\.\d ms CANCELLED",
        r"DEBUG leased \['1'\] of q, delivery 1",
        r"DEBUG renewed \['1'\] of q, delivery 1",
    ):
        assert re.search(line, said), said


def test_the_help_names_the_variables(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["emulator", "--help"])
    assert PREFIX in capsys.readouterr().out


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    before = list(root.handlers)
    yield
    root.handlers[:] = before


@pytest.mark.parametrize("library", ["hpack", "uvloop"])
def test_says_which_extra_is_missing(library: str) -> None:
    program = (
        f"import sys; sys.modules['{library}'] = None;"
        " from sqlalchemy_spanner_queues.cli import main; sys.exit(main(['emulator']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == (
        f"spanner-queues: the emulator needs {library}: pip install 'sqlalchemy-spanner-queues[emulator]'\n"
    )
