"""The code of README and docs/ runs as it stands, block after block."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```python(?P<kind>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str, page: Path = README) -> list[str]:
    return [match["code"] for match in BLOCK.finditer(page.read_text()) if match["kind"].strip() == kind]


def run(codes: list[str], namespace: dict[str, Any]) -> None:
    for code in codes:
        exec(compile(code, str(README), "exec", dont_inherit=True), namespace)


def test_the_python_blocks_run_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    run(blocks(""), {"__name__": __name__})
    printed = capsys.readouterr().out
    assert "use reschedule(session, message" in printed
    assert "was acknowledged already" in printed


def test_the_emulator_blocks_run(emulator: object) -> None:
    assert emulator is not None  # skips where there is no official emulator
    run([blocks("")[0], *blocks("emulator")], {"__name__": __name__})


def test_the_page_about_the_emulator(emulator: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert emulator is not None  # skips where there is no official emulator
    run(blocks("", ROOT / "docs" / "emulator.md"), {"__name__": __name__})
    assert capsys.readouterr().out.startswith("projects/")


WORKER_PAGE = ROOT / "docs" / "worker.md"


def test_the_page_about_the_worker(capsys: pytest.CaptureFixture[str]) -> None:
    run(blocks("", WORKER_PAGE), {"__name__": __name__})
    assert_worker_page(capsys.readouterr().out)


def test_the_page_about_the_worker_on_the_emulator(emulator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    emulator.reset()
    sqlite = 'create_engine("sqlite://")'
    first, *others = blocks("", WORKER_PAGE)
    assert sqlite in first
    engine = emulator.create_engine()
    run([first.replace(sqlite, "the_engine"), *others], {"__name__": __name__, "the_engine": engine})
    assert_worker_page(capsys.readouterr().out)
    engine.dispose()


def assert_worker_page(printed: str) -> None:
    assert "mailed order 7, idempotency key " in printed
    assert "ValueError: order 8 does not exist" in printed
