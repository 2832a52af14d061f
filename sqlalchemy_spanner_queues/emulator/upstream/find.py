"""Find the official emulator: a running one, an installed one, or its Docker image."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from sqlalchemy_spanner_queues.exc import EmulatorNotFound

from .probe import answers, is_gateway

IMAGE: Final = "gcr.io/cloud-spanner-emulator/emulator"
BINARY: Final = "emulator_main"
ENVIRONMENT: Final = "SPANNER_EMULATOR_HOST"
NOT_FOUND: Final = f"""no official Spanner emulator was found; there are three ways to get one:
  - start one anywhere and name it: export {ENVIRONMENT}=localhost:9010 (or pass upstream="localhost:9010")
  - install it: gcloud components install cloud-spanner-emulator (or put {BINARY} on PATH)
  - start Docker: the image {IMAGE} is used then"""

_SDK_PLACES: Final = (
    "/usr/lib/google-cloud-sdk",
    "/usr/local/google-cloud-sdk",
    "/usr/local/share/google-cloud-sdk",
    "/opt/google-cloud-sdk",
    "/opt/homebrew/share/google-cloud-sdk",
    "/snap/google-cloud-sdk/current",
    "~/google-cloud-sdk",
)
_DOCKER_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Upstream:
    """A way to the official emulator: an ``address``, a ``binary`` to start, or a ``docker`` image."""

    kind: Literal["address", "binary", "docker"]
    value: str


def find_emulator() -> Upstream | None:
    """Find the official emulator without starting it; None when there is none.

    Looks, in this order, at SPANNER_EMULATOR_HOST (when it answers), for ``emulator_main`` on PATH, in the
    folder of the gcloud SDK, and for a Docker engine. ::

        if find_emulator() is None:
            pytest.skip("no Spanner emulator")

    https://docs.cloud.google.com/spanner/docs/emulator
    """
    address = os.environ.get(ENVIRONMENT, "")
    if address and answers(address) and not is_gateway(address):
        return Upstream("address", address)
    binary = shutil.which(BINARY) or next(_in_sdk(), None)
    if binary is not None:
        return Upstream("binary", binary)
    return None if docker_is_silent() else Upstream("docker", IMAGE)


def choose_emulator(address: str | None = None, *, docker: bool = False) -> Upstream:
    """Return the emulator that is asked for: an address, the Docker image, or whatever is found.

    Raises EmulatorNotFound when there is none.
    """
    if docker:
        if silent := docker_is_silent():
            raise EmulatorNotFound(f"Docker cannot run the emulator: {silent}")
        return Upstream("docker", IMAGE)
    found = Upstream("address", address) if address else find_emulator()
    if found is None:
        raise EmulatorNotFound(NOT_FOUND)
    return found


def _sdk_roots() -> Iterator[Path]:
    if root := os.environ.get("CLOUDSDK_ROOT_DIR"):
        yield Path(root)
    if gcloud := shutil.which("gcloud"):
        yield Path(gcloud).resolve().parent.parent
    yield from (Path(place).expanduser() for place in _SDK_PLACES)


def _in_sdk() -> Iterator[str]:
    for root in _sdk_roots():
        binary = root / "bin" / "cloud_spanner_emulator" / BINARY
        if os.access(binary, os.X_OK):
            yield str(binary)


def docker_is_silent() -> str:
    """Ask the Docker engine whether it is there; empty when it is, otherwise the reason why not."""
    docker = shutil.which("docker")
    if docker is None:
        return "there is no docker on PATH"
    command = [docker, "version", "--format", "{{.Server.Version}}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DOCKER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0 and done.stdout.strip():
        return ""
    return done.stderr.strip() or "its engine does not answer"
