"""Every test runs on asyncio's own event loop and on uvloop, the one that the gateway runs on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from sqlalchemy_spanner_queues.emulator.transport import run

SECONDS = 60.0

Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(params=[asyncio.run, run], ids=["asyncio", "uvloop"])
def in_loop(request: pytest.FixtureRequest) -> Run:
    """Run a coroutine; whatever hangs is an error, and so is what a callback raises."""
    return partial(_run, request.param)


def _run(runner: Run, work: Coroutine[Any, Any, None]) -> None:
    failures: list[dict[str, Any]] = []

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
        async with asyncio.timeout(SECONDS):
            await work

    runner(watched())
    assert not failures
