"""Run a command that ends with its owner, whatever ends the owner.

The owner starts this file with a pipe as standard input and keeps the other end. When the owner is gone, in
any way, the pipe closes, and the command is ended. ::

    python watchdog.py [--cleanup 'docker rm -f NAME'] -- emulator_main --host_port localhost:9010

It prints the command's process id, and exits with the command's exit code.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import partial
from types import FrameType

GRACE_SECONDS = 2.0
CLEANUP_SECONDS = 10.0
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Run the command until it ends, or until standard input does."""
    # A Ctrl-C at the terminal is for the owner, who then closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    separator = arguments.index("--")
    cleanup = shlex.split(arguments[1]) if arguments[:1] == ["--cleanup"] else []
    command = arguments[separator + 1 :]
    # Who has something to clean up may hear that it is over.
    last = partial(_die_with_parent, signal.SIGTERM if cleanup else signal.SIGKILL)
    # Nobody reads standard output after the first line.
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), preexec_fn=last)

    def terminate(_number: int, _frame: FrameType | None) -> None:
        child.terminate()

    signal.signal(signal.SIGTERM, terminate)
    print(child.pid, flush=True)
    threading.Thread(target=_end_with_owner, args=(child,), daemon=True).start()
    code = child.wait()
    clean_up(cleanup)
    return code if code >= 0 else 128 - code


def clean_up(command: Sequence[str]) -> None:
    """Run the command that removes what is left, if there is one; it fails when nothing is."""
    if command:
        subprocess.run(command, check=False, capture_output=True, timeout=CLEANUP_SECONDS)


def _die_with_parent(number: int) -> None:
    # For the case that the watchdog is killed together with its owner; other systems have no such call.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


def _end_with_owner(child: subprocess.Popen[bytes]) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    child.terminate()
    try:
        child.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
