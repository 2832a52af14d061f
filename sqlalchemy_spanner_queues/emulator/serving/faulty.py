"""Apply a fault to a request: before it, after it, and to the stream that it answers with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

import grpc

from ..errors import Refusal
from ..faults import Fault
from ..matching import text_of
from ..methods.calls import Call
from ..methods.losing import lose
from ..state import State
from .disturbed import Broken, disturbed


async def begin(state: State, call: Call, raw: bytes) -> FaultyRequest | None:
    """Take the fault of a request, if there is one, and do what comes before the request is applied.

    Raises Refusal when it is not to be applied.
    """
    if not state.faults.armed:
        return None
    fault = state.faults.take(call.name, text_of(call.name, raw))
    if fault is None:
        return None
    request = FaultyRequest(state, call, raw, fault)
    await request.begin()
    return request


@dataclass(frozen=True, slots=True)
class FaultyRequest:
    """A request with the fault that hits it."""

    state: State
    call: Call
    raw: bytes
    fault: Fault

    async def begin(self) -> None:
        """Do what comes before the request is applied."""
        if not self.fault.after_apply:
            await self._wait()
        if self.fault.fails_before:
            raise self._failed("before")

    async def end(self, answer: bytes) -> None:
        """Do what comes between the request and its answer.

        Raises Refusal when the client is not to hear of it.
        """
        if self.fault.after_apply:
            await self._wait(answer)
        if self.fault.fails_after:
            raise self._failed("after", answer)

    async def stream(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the chunks of an answer as the fault leaves them."""
        shown = self._held_back(chunks) if self.fault.after_apply else disturbed(chunks, self.fault)
        try:
            async for chunk in shown:
                yield chunk
        except Broken:
            self._lose(self.fault.status())
            raise
        finally:
            await _close(chunks)

    async def _held_back(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        first = b""
        async for chunk in chunks:
            if not self.fault.fails_after:
                if not first:
                    await self._wait(chunk)
                yield chunk
            first = first or chunk
        if self.fault.fails_after:
            await self.end(first)

    async def _wait(self, answer: bytes = b"") -> None:
        try:
            await asyncio.sleep(self.fault.delay)
        except asyncio.CancelledError:
            # The client has not waited for so long.
            self._lose(grpc.StatusCode.CANCELLED, answer)
            raise

    def _failed(self, when: str, answer: bytes = b"") -> Refusal:
        self._lose(self.fault.status(), answer)
        return Refusal(self.fault.status(), f"injected fault {when} {self.call.name}")

    def _lose(self, code: grpc.StatusCode, answer: bytes = b"") -> None:
        lose(self.state, self.call, self.raw, code, answer)


async def _close(chunks: AsyncIterator[bytes]) -> None:
    # A stream that is broken must not go on in the background until the garbage collector comes.
    if isinstance(chunks, AsyncGenerator):
        await chunks.aclose()
