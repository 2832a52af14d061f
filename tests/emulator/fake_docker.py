"""Stands in for the ``docker`` command: containers are processes of the official emulator.

Started by the tests as a script, with a folder for what it knows of its containers and the emulator's binary
in front of docker's own arguments. As with docker, a container lives on when the command that runs it is
killed, and ends when the command is asked to end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import FrameType


def main(state: Path, binary: str, verb: str, *arguments: str) -> int:
    """Do what docker would."""
    with (state / "calls").open("a") as calls:
        print(verb, *arguments, file=calls)
    if (state / "no engine").exists():
        print("Cannot connect to the Docker daemon. Is the docker daemon running?", file=sys.stderr)
        return 1
    if verb == "version":
        print("28.0.0")
    elif verb == "run":
        return run(state, binary, *arguments)
    elif verb == "rm":
        return remove(state, arguments[-1])
    return 0


def run(state: Path, binary: str, *arguments: str) -> int:
    """Run a container in the foreground: ``--rm --name NAME -p 127.0.0.1:PORT:9010 IMAGE``."""
    if (state / "no image").exists():
        print("Unable to find image locally: pull access denied", file=sys.stderr)
        return 125
    named = dict(pairwise(arguments))
    name, mapping = named["--name"], named["-p"]
    address, _, inside = mapping.rpartition(":")
    assert (inside, address.split(":")[0]) == ("9010", "127.0.0.1")
    engine = subprocess.Popen([binary, f"--host_port={address}"], start_new_session=True)
    (state / name).write_text(str(engine.pid))
    print("started", flush=True)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if not (state / "deaf").exists():
            engine.send_signal(number)

    signal.signal(signal.SIGTERM, pass_on)
    code = engine.wait()
    (state / name).unlink(missing_ok=True)
    return code


def remove(state: Path, name: str) -> int:
    """Remove a container, running or not."""
    try:
        os.kill(int((state / name).read_text()), signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        print(f"Error response from daemon: No such container: {name}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
