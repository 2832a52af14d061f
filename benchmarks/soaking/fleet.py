"""The worker processes of a soak: started, killed, told to stop, started again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from typing import IO

# A stop takes the shutdown timeout of the program, and some.
STOP_SECONDS = 40.0
LAST_WORDS = 3000


@dataclass
class Member:
    process: subprocess.Popen[str]
    errors: IO[str]
    signal: signal.Signals | None = None


class Fleet:
    """Keep so many processes running; ``deaths`` are those that nobody asked for, with their last words."""

    def __init__(self, host: str, database: str, size: int, luck: random.Random) -> None:
        self._environment = {**os.environ, "SPANNER_EMULATOR_HOST": host, "GOOGLE_CLOUD_PROJECT": "soak"}
        self._database = database
        self._luck = luck
        self._members: list[Member] = []
        self._size = size
        self.starts = 0
        self.signals: Counter[str] = Counter()
        self.exits: Counter[int] = Counter()
        self.events: Counter[str] = Counter()
        self.deaths: list[str] = []

    def look(self) -> None:
        """Note who has ended, and start others in their place."""
        for member in [one for one in self._members if one.process.poll() is not None]:
            self._members.remove(member)
            self._buried(member)
        while len(self._members) < self._size:
            self._members.append(self._started())

    def strike(self) -> None:
        """Kill a process at random, or tell it to stop."""
        untouched = [one for one in self._members if one.signal is None]
        if untouched:
            self._send(self._luck.choice(untouched), self._luck.choice((signal.SIGKILL, signal.SIGTERM)))

    def stop(self) -> None:
        """Tell all to stop, and wait until they have ended."""
        for member in self._members:
            if member.process.poll() is None:
                self._send(member, signal.SIGTERM)
        for member in self._members:
            member.process.wait(STOP_SECONDS)
            self._buried(member)
        self._members.clear()

    def kill(self) -> None:
        """End all that is left, whatever happens."""
        for member in self._members:
            member.process.kill()
            member.process.wait()
        self._members.clear()

    def _started(self) -> Member:
        self.starts += 1
        command = [sys.executable, "-m", "benchmarks.soaking.program", self._database]
        errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed when its process is over
        process = subprocess.Popen(
            [*command, str(self._luck.getrandbits(32))],
            # It ends when this pipe does, however this process ends.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=self._environment,
        )
        return Member(process, errors)

    def _send(self, member: Member, number: signal.Signals) -> None:
        member.signal = number
        self.signals[number.name] += 1
        member.process.send_signal(number)

    def _buried(self, member: Member) -> None:
        code = member.process.returncode
        self.exits[code] += 1
        output, _ = member.process.communicate()
        if output.strip():
            self.events.update(json.loads(output))
        if member.signal is None or code not in (0, 1, -member.signal):
            member.errors.seek(0)
            self.deaths.append(f"exit code {code}: {member.errors.read()[-LAST_WORDS:]}")
        member.errors.close()
