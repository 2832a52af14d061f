"""Apply a fault to a request: before it, after it, and to the stream that it answers with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from ..errors import Refusal
from ..faults import Fault
from ..matching import text_of
from ..methods import commits
from ..methods.calls import Call
from ..state import State
from .disturbed import disturbed


async def begin(state: State, call: Call, raw: bytes) -> Fault | None:
    """Take the fault of a request, and do what it asks before the request is applied.

    Raises Refusal when it is not to be applied.
    """
    if not state.faults.armed:
        return None
    fault = state.faults.take(call.name, text_of(call.name, raw))
    if fault is None:
        return None
    if not fault.after_apply:
        await asyncio.sleep(fault.delay)
    if fault.fails_before:
        commits.lose(state, call, raw, fault.status())
        raise Refusal(fault.status(), f"injected fault before {call.name}")
    return fault


async def end(fault: Fault, call: Call) -> None:
    """Do what a fault asks when the request is applied.

    Raises Refusal when its client is not to hear of it.
    """
    if fault.after_apply:
        await asyncio.sleep(fault.delay)
    if fault.fails_after:
        raise Refusal(fault.status(), f"injected fault after {call.name}")


async def stream(chunks: AsyncIterator[bytes], fault: Fault, call: Call) -> AsyncIterator[bytes]:
    """Yield the chunks of an answer as a fault leaves them."""
    late = fault.delay if fault.after_apply and not fault.fails_after else 0.0
    try:
        async for chunk in disturbed(chunks, fault) if fault.disturbs else chunks:
            if fault.fails_after:
                continue
            await asyncio.sleep(late)
            late = 0.0
            yield chunk
        if fault.fails_after:
            await end(fault, call)
    finally:
        await _close(chunks)


async def _close(chunks: AsyncIterator[bytes]) -> None:
    # A stream that is broken must not go on in the background until the garbage collector comes.
    if isinstance(chunks, AsyncGenerator):
        await chunks.aclose()
