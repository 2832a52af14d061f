"""Find the official emulator: a running one, an installed one, or its Docker image."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import grpc

from .._grpc import blocking_method
from .api import CONTROL

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
    return Upstream("docker", IMAGE) if _docker_answers() else None


def answers(address: str, timeout: float = 1.0) -> bool:
    """Tell whether something listens at ``host:port``."""
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return False
    try:
        socket.create_connection((host.strip("[]") or "localhost", int(port)), timeout).close()
    except OSError:
        return False
    return True


def is_gateway(address: str) -> bool:
    """Tell whether a gateway of this package listens there: one is enough."""
    with grpc.insecure_channel(address) as channel:
        ping = blocking_method(channel, CONTROL + "Ping")
        try:
            ping(b"{}", timeout=2.0)
        except grpc.RpcError:
            return False
        return True


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


def _docker_answers() -> bool:
    docker = shutil.which("docker")
    if docker is None:
        return False
    command = [docker, "version", "--format", "{{.Server.Version}}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=3.0, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(done.stdout.strip())
