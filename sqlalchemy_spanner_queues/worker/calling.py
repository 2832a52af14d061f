"""Call handlers: through the middleware, in this thread or on an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from ..orm import QueueMessage
from .handler import Handler
from .job import Job
from .outcomes import Ack, Outcome


@dataclass(frozen=True)
class Call:
    """A handler that is about to run, for middleware.

    ``handler`` is its name, ``messages`` what it gets (one, unless it takes batches), ``attempts`` counts the
    starts of the first of them where they are counted, ``session`` is there in the mode "transaction".
    """

    handler: str
    messages: Sequence[QueueMessage]
    attempts: int
    session: Session | None

    @property
    def message(self) -> QueueMessage:
        """Return the message, or the first one of a batch.

        Example: ``tracer.start_span(call.handler, links=[call.message.payload.trace])``.
        """
        return self.messages[0]


Middleware = Callable[[Call, Callable[[], object]], object]


class HandlerFailed(Exception):
    """Carry what a handler raised through code that must not take it for its own; it is the cause."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error = error


class Caller:
    """Call handlers; ``loop`` gives the event loop for those that are coroutine functions."""

    def __init__(
        self, middleware: Sequence[Middleware], loop: Callable[[], asyncio.AbstractEventLoop]
    ) -> None:
        self._middleware = list(middleware)
        self._loop = loop

    def __call__(self, jobs: Sequence[Job], session: Session | None) -> Outcome:
        """Return the outcome that the handler returned or raised; HandlerFailed is for all else."""
        handler = jobs[0].handler
        call = Call(handler.name, [job.message for job in jobs], jobs[0].attempts, session)
        proceed: Callable[[], object] = partial(self._call, handler, jobs, call)
        for middleware in reversed(self._middleware):
            proceed = partial(middleware, call, proceed)
        try:
            return _outcome(handler, proceed())
        except Outcome as outcome:
            return outcome
        except BaseException as error:
            # Also SystemExit and the like: they end this message's attempt, and nothing else.
            raise HandlerFailed(error) from error

    def _call(self, handler: Handler, jobs: Sequence[Job], call: Call) -> object:
        given: Any = list(call.messages) if handler.batch is not None else call.message
        arguments = (given,) if handler.mode != "transaction" else (given, call.session)
        if not handler.is_async:
            return handler.function(*arguments)
        return _run_on(self._loop(), lambda: handler.function(*arguments), jobs)


def _outcome(handler: Handler, value: object) -> Outcome:
    if value is None:
        return Ack()
    if isinstance(value, Outcome):
        return value
    raise TypeError(
        f"handler {handler.name!r} returned {value!r}; return None, Ack(), Retry(...), Discard(...) or"
        " DeadLetter(...)"
    )


def _run_on(
    loop: asyncio.AbstractEventLoop, make: Callable[[], Coroutine[Any, Any, object]], jobs: Sequence[Job]
) -> object:
    """Run a coroutine on a loop and wait for its real end, cancelled or not."""
    done: Future[object] = Future()

    async def guarded() -> None:
        # Nothing may leave the task: the loop would end with a SystemExit.
        try:
            done.set_result(await make())
        except BaseException as error:  # noqa: BLE001 - raised by done.result()
            done.set_exception(error)

    def start() -> None:
        task = loop.create_task(guarded())
        for job in jobs:
            job.cancel = lambda: _cancel(loop, task)
        if any(job.lease.is_lost for job in jobs):
            task.cancel()
        # One that was cancelled before its first step never comes to guarded().
        task.add_done_callback(lambda _task: _finish(done))

    loop.call_soon_threadsafe(start)
    try:
        return done.result()
    finally:
        for job in jobs:
            job.cancel = None


def _finish(done: Future[object]) -> None:
    if not done.done():
        done.set_exception(asyncio.CancelledError())


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: the task is over
        loop.call_soon_threadsafe(task.cancel)


class LoopThread:
    """An event loop in a thread of its own, started when it is first asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __call__(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="spanner-queues-loop", daemon=True
                )
                self._thread.start()
            return self._loop

    def close(self, timeout: float) -> None:
        """End the loop; a handler that blocks it is left behind after ``timeout`` seconds."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout)
        if not self._thread.is_alive():
            self._loop.close()
