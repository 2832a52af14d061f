"""Every test runs on asyncio's own event loop and on uvloop, the one that the gateway runs on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

import pytest
import uvloop

SECONDS = 60.0

Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(
    scope="session", params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    """One loop for all tests: gRPC's own asyncio may call into a loop after a test is over."""
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner


@pytest.fixture
def in_loop(runner: asyncio.Runner) -> Run:
    """Run a coroutine; whatever hangs is an error, and so is what a callback raises."""
    return partial(_run, runner)


def _run(runner: asyncio.Runner, work: Coroutine[Any, Any, None]) -> None:
    failures: list[dict[str, Any]] = []

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
        async with asyncio.timeout(SECONDS):
            await work

    runner.run(watched())
    assert not failures
