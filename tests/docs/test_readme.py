"""The README's code runs as it stands, block after block."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```python(?P<kind>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> list[str]:
    return [match["code"] for match in BLOCK.finditer(README.read_text()) if match["kind"].strip() == kind]


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
