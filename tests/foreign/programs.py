"""Build the programs of the other languages, run them against the gateway, and read what they saw.

Each program takes the shared ``statements.json``, a dialect and a scenario or ``all``, and prints JSON lines.
Build output goes to ``.build`` beside this file, which a second session finds.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

from sqlalchemy_spanner_queues.emulator import Emulator

HERE = Path(__file__).parent
BUILD = HERE / ".build"
STATEMENTS = HERE / "statements.json"
DIALECTS = ("googlesql", "postgresql")
NAMES: Mapping[str, Mapping[str, Any]] = json.loads(STATEMENTS.read_text())

_BUILD_SECONDS = 540.0
_RUN_SECONDS = 120.0
_COMPLAINTS_BYTES = 4096
# The Node client looks for Google's metadata server, which no emulator needs.
_ENVIRONMENT = {"METADATA_SERVER_DETECTION": "none"}

Json = dict[str, Any]


@dataclass(repr=False)
class Run:
    """What a program printed by scenario, how it ended, and how long it lived after its last line."""

    saw: dict[str, Json] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    exit_code: int | None = None
    exit_seconds: float = 0.0
    complaints: str = ""

    def of(self, scenario: str) -> Json:
        """Return what a scenario saw; an error of it fails the test."""
        if scenario not in self.saw:
            pytest.fail(f"{self.errors.get(scenario, 'the scenario did not run')}\n{self.complaints}")
        return self.saw[scenario]


class Program:
    """A program that is built; it runs all scenarios of a dialect once."""

    def __init__(self, command: Sequence[str], emulator: Emulator) -> None:
        self._command = command
        self._emulator = emulator
        self._runs: dict[str, Run] = {}

    def run(self, dialect: str) -> Run:
        """Return what the program sees in this dialect."""
        if dialect not in self._runs:
            self._runs[dialect] = Run()
            self._emulator.reset()
            try:
                self._fill(self._runs[dialect], dialect)
            finally:
                self._emulator.reset()
        return self._runs[dialect]

    def _fill(self, run: Run, dialect: str) -> None:
        with tempfile.TemporaryFile() as errors:
            with self._started(dialect, errors) as process:
                said = self._read(process, run)
                run.exit_code = process.wait()
                run.exit_seconds = time.monotonic() - said
            errors.seek(0)
            run.complaints = errors.read(_COMPLAINTS_BYTES).decode(errors="replace")

    @contextmanager
    def _started(self, dialect: str, errors: IO[bytes]) -> Iterator[subprocess.Popen[str]]:
        environment = {**os.environ, **_ENVIRONMENT, "SPANNER_EMULATOR_HOST": self._emulator.host}
        command = [*self._command, str(STATEMENTS), dialect, "all"]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=errors, env=environment, encoding="utf-8"
        ) as process:
            # A program that hangs is killed, which ends its lines.
            killer = threading.Timer(_RUN_SECONDS, process.kill)
            killer.start()
            try:
                yield process
            finally:
                killer.cancel()
                process.kill()

    def _read(self, process: subprocess.Popen[str], run: Run) -> float:
        assert process.stdout is not None
        assert process.stdin is not None
        said = time.monotonic()
        for text in process.stdout:
            line = json.loads(text)
            if "ask" in line:
                _ASKED[line["ask"]](self._emulator, line)
                process.stdin.write("done\n")
                process.stdin.flush()
            elif "error" in line:
                run.errors[line["scenario"]] = line["error"]
            else:
                run.saw[line["scenario"]] = line["saw"]
            said = time.monotonic()
        return said


def _advance(emulator: Emulator, line: Json) -> None:
    emulator.advance(line["seconds"])


def _break_stream(emulator: Emulator, line: Json) -> None:
    for code in ("UNAVAILABLE", "DATA_LOSS"):
        emulator.inject("ExecuteStreamingSql", code=code, drop_after_rows=1, match=line["sql"])


def _abort_commit(emulator: Emulator, _: Json) -> None:
    emulator.inject("Commit", code="ABORTED")


_ASKED: Mapping[str, Callable[[Emulator, Json], None]] = {
    "advance": _advance,
    "break_stream": _break_stream,
    "abort_commit": _abort_commit,
}


def build_go() -> list[str]:
    """Build the Go program and return its command; skips without Go."""
    _need("Go", "go")
    program = BUILD / "go" / "foreign"
    _do("go", "build", "-o", str(program), ".", cwd=HERE / "go")
    return [str(program)]


def build_java() -> list[str]:
    """Build the Java program and return its command; skips without a JDK and Maven."""
    _need("Java", "java", "javac", "mvn")
    build = BUILD / "java"
    classpath = build / "classpath"
    _do(
        *("mvn", "-q", "-B", "compile", "dependency:build-classpath"),
        *(f"-Dforeign.build={build}", f"-Dmdep.outputFile={classpath}"),
        cwd=HERE / "java",
    )
    classes = os.pathsep.join((str(build / "classes"), classpath.read_text()))
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes, "foreign.Main"]


def build_node() -> list[str]:
    """Install the Node program's packages and return its command; skips without Node and npm."""
    _need("Node", "node", "npm")
    build = BUILD / "node"
    build.mkdir(parents=True, exist_ok=True)
    for source in (*(HERE / "node").glob("*.mjs"), *(HERE / "node").glob("*.json")):
        shutil.copy(source, build)
    lock = (build / "package-lock.json").read_text()
    # npm ci empties the folder first, so what it ends with tells that it is complete.
    installed = build / "node_modules" / ".installed"
    if not (installed.exists() and installed.read_text() == lock):
        _do("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=build)
        installed.write_text(lock)
    return ["node", str(build / "main.mjs")]


def _need(language: str, *tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"no toolchain for {language}: {', '.join(missing)} not on PATH")


def _do(*command: str, cwd: Path) -> None:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, encoding="utf-8", timeout=_BUILD_SECONDS, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}"
