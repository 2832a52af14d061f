"""The official emulator as a Docker image, with a stand-in for the ``docker`` command."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sqlalchemy_spanner_queues.cli import main
from sqlalchemy_spanner_queues.emulator import Emulator, find_emulator
from sqlalchemy_spanner_queues.emulator.upstream import find
from sqlalchemy_spanner_queues.emulator.upstream.probe import answers
from sqlalchemy_spanner_queues.exc import EmulatorError, EmulatorNotFound
from tests.emulator import fake_docker
from tests.emulator.helpers import TIMEOUT_SECONDS
from tests.emulator.test_process import OWNER, Owned, children_of

linux = pytest.mark.skipif(sys.platform != "linux", reason="finds the watchdog in /proc")


class Docker:
    """The stand-in: what it was asked, and what it is to do."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.bin = folder / "some bin"
        for made in (self.state, self.bin):
            made.mkdir()

    def install(self, binary: str) -> None:
        script = self.bin / "docker"
        run = f'exec "{sys.executable}" "{fake_docker.__file__}" "{self.state}" "{binary}" "$@"'
        script.write_text(f"#!/bin/sh\n{run}\n")
        script.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        return (self.state / "calls").read_text().splitlines()

    def containers(self) -> list[Path]:
        return [path for path in self.state.iterdir() if path.name.startswith("spanner-queues-")]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    """Put the stand-in first on PATH."""
    found = find_emulator()
    if found is None or found.kind != "binary":
        pytest.skip("needs an installed emulator to run in the containers of the stand-in")
    monkeypatch.delenv("SPANNER_EMULATOR_HOST", raising=False)
    docker = Docker(tmp_path)
    docker.install(found.value)
    monkeypatch.setenv("PATH", str(docker.bin), prepend=os.pathsep)
    return docker


def test_the_image_is_used_when_it_is_asked_for(docker: Docker) -> None:
    with Emulator(docker=True) as emulator:
        upstream = emulator.upstream
        port = upstream.split(":")[1]
        (container,) = docker.containers()
        assert docker.calls == [
            *["version --format {{.Server.Version}}"] * 2,
            f"run --rm --name {container.name} -p 127.0.0.1:{port}:9010 {find.IMAGE}",
        ]
        with emulator.create_engine().connect() as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    assert docker.calls[-1] == f"rm --force {container.name}"
    assert docker.containers() == []
    assert not answers(upstream)


def test_the_image_is_the_last_choice(docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_emulator() != find.Upstream("docker", find.IMAGE)
    monkeypatch.setattr(find, "_SDK_PLACES", ())
    monkeypatch.setenv("PATH", str(docker.bin))
    monkeypatch.delenv("CLOUDSDK_ROOT_DIR", raising=False)
    assert find_emulator() == find.Upstream("docker", find.IMAGE)
    (docker.state / "no engine").touch()
    assert find_emulator() is None


def test_an_engine_that_does_not_run_is_told(docker: Docker, capsys: pytest.CaptureFixture[str]) -> None:
    (docker.state / "no engine").touch()
    with pytest.raises(EmulatorNotFound, match="Docker cannot run the emulator: Cannot connect"):
        Emulator(docker=True).start()
    assert main(["emulator", "--port", "0", "--docker"]) == 1
    assert "Is the docker daemon running?" in capsys.readouterr().err


def test_no_docker_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EmulatorNotFound, match="there is no docker on PATH"):
        Emulator(docker=True).start()


def test_an_image_that_is_not_there_is_told(docker: Docker) -> None:
    (docker.state / "no image").touch()
    with pytest.raises(EmulatorError, match=r"(?s)pull access denied.*docker pull"):
        Emulator(docker=True).start()
    assert docker.containers() == []


class InDocker(Owned):
    """A process that owns an emulator in a container."""

    owner = OWNER.replace("Emulator()", "Emulator(docker=True)")


Kill = Callable[[InDocker], None]


def kill_owner(owned: InDocker) -> None:
    owned.process.kill()


def kill_gateway(owned: InDocker) -> None:
    os.kill(owned.gateway, signal.SIGKILL)


def kill_watchdog(owned: InDocker) -> None:
    (watchdog,) = children_of(owned.gateway)
    os.kill(watchdog, signal.SIGKILL)


def kill_gateway_and_watchdog(owned: InDocker) -> None:
    for process in (*children_of(owned.gateway), owned.gateway):
        os.kill(process, signal.SIGKILL)


@linux
@pytest.mark.parametrize("kill", [kill_owner, kill_gateway, kill_watchdog, kill_gateway_and_watchdog])
def test_no_container_is_left_whatever_is_killed(docker: Docker, kill: Kill) -> None:
    check_nothing_is_left(docker, kill)


@linux
@pytest.mark.parametrize("kill", [kill_owner, kill_gateway, kill_watchdog])
def test_no_container_is_left_that_does_not_listen(docker: Docker, kill: Kill) -> None:
    (docker.state / "deaf").touch()
    check_nothing_is_left(docker, kill)


def check_nothing_is_left(docker: Docker, kill: Kill) -> None:
    owned = InDocker()
    (container,) = docker.containers()
    with process_of(container) as process:
        kill(owned)
        owned.all_gone()
        owned.close()
        assert ends_within(process, TIMEOUT_SECONDS)


@contextmanager
def process_of(container: Path) -> Iterator[int]:
    """Open the process of a container; it is readable when it has ended."""
    descriptor = os.pidfd_open(int(container.read_text()))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def ends_within(process: int, seconds: float) -> bool:
    return bool(select.select([process], [], [], seconds)[0])


@linux
def test_a_container_outlives_its_command(docker: Docker) -> None:
    """The stand-in is as stubborn as docker is: without the clean-up a container would be left."""
    command = ["docker", "run", "--rm", "--name", "spanner-queues-x", "-p", "127.0.0.1:0:9010", find.IMAGE]
    run = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert run.stdout is not None
    assert run.stdout.readline() == b"started\n"
    with process_of(docker.state / "spanner-queues-x") as process:
        run.kill()
        run.wait()
        assert not ends_within(process, 0.5)
        subprocess.run(["docker", "rm", "--force", "spanner-queues-x"], check=True)
        assert ends_within(process, TIMEOUT_SECONDS)
    run.stdout.close()
