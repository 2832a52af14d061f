"""The worker: handlers for queues, run until they are told to stop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, TypeVar

from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from ..dialects import for_dialect
from ..exc import ForkedProcess, HandlerError, SpannerQueuesError
from ..orm import QueueMessage
from ..receiver.reader import MOST_WAITING_BYTES
from ..receiver.receiver import LONGEST_LEASE
from .calling import Middleware
from .crew import Crew, Plan, by_queue
from .dead_letter import check_target
from .events import Events, Listener
from .handler import Discriminator, Handler, Mode
from .health import Health, health_of
from .retry import RetryPolicy
from .routing import Routes
from .supervising import Supervisor

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
MiddlewareT = TypeVar("MiddlewareT", bound=Middleware)
ListenerT = TypeVar("ListenerT", bound=Listener)

DEFAULT_CONCURRENCY: Final = 10
DEFAULT_SHUTDOWN_SECONDS: Final = 25.0


class Worker:
    """Run handlers on the messages of queues, until SIGTERM.

    ::

        worker = Worker(engine)

        @worker.handler(WelcomeEmail, retry=RetryPolicy(max_attempts=5), dead_letter=FailedMessage)
        def send_welcome(message: WelcomeEmail, session: Session) -> None:
            session.get_one(User, message.user_id).welcomed = True

        worker.run()                    # or in the shell: spanner-queues worker myapp.tasks:worker

    - ``concurrency``: how many messages (or batches) of each queue are worked on at once.
    - ``shutdown_timeout``: how long running handlers have after the first signal, in seconds.
    - ``session_factory``: makes the sessions of handlers; by default ``Session(engine)``.
    - ``max_batch_size``: how many messages the database sends at once; by default as many as can start soon.
    - ``max_waiting_bytes``: how many bytes of payload may wait for a handler, for each queue.
    - ``priority``: passed through to RECEIVE.
    - ``spanner_database``: the full path ``projects/…/databases/…`` where the engine cannot tell it.

    Every queue has threads and a stream of its own: a slow handler holds up no other queue. Clients and
    threads are made when it starts to run, so that a process can fork before.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """

    def __init__(
        self,
        engine: Engine,
        *,
        concurrency: int = DEFAULT_CONCURRENCY,
        shutdown_timeout: float = DEFAULT_SHUTDOWN_SECONDS,
        session_factory: Callable[[], Session] | None = None,
        max_batch_size: int | None = None,
        max_waiting_bytes: int = MOST_WAITING_BYTES,
        priority: int | str | None = None,
        spanner_database: str | None = None,
    ) -> None:
        self._seam = for_dialect(engine.dialect, "running a worker")
        self.engine = engine
        self.configure(concurrency=concurrency, shutdown_timeout=shutdown_timeout)
        self._session_factory = session_factory or (lambda: Session(engine))
        self._max_batch_size = max_batch_size
        self._max_waiting_bytes = max_waiting_bytes
        self._priority = priority
        self._spanner_database = spanner_database
        self._handlers: list[Handler] = []
        self._middleware: list[Middleware] = []
        self._events = Events()
        self._supervisor: Supervisor | None = None
        self._crew: Crew | None = None
        self._pid = 0

    def configure(self, *, concurrency: int | None = None, shutdown_timeout: float | None = None) -> None:
        """Change what is given, before the worker runs; the command's flags do so.

        Example: ``worker.configure(concurrency=50)``. Raises ValueError as the constructor does.
        """
        if concurrency is not None:
            if concurrency < 1:
                raise ValueError(f"concurrency counts messages and is 1 or more, not {concurrency}")
            self.concurrency = concurrency
        if shutdown_timeout is not None:
            if shutdown_timeout < 0:
                raise ValueError(f"shutdown_timeout is in seconds and not negative, not {shutdown_timeout}")
            self.shutdown_timeout = shutdown_timeout

    def handler(
        self,
        model: type[QueueMessage],
        *,
        mode: Mode = "transaction",
        batch: int | None = None,
        by: Discriminator | None = None,
        type: object = None,
        concurrency: int | None = None,
        retry: RetryPolicy | None = None,
        dead_letter: type[Any] | None = None,
        run_time: timedelta | None = None,
        max_age: timedelta | None = None,
        max_lease: timedelta = LONGEST_LEASE,
        on_lease_lost: Callable[[Any], object] | None = None,
    ) -> Callable[[FunctionT], FunctionT]:
        """Make a function the handler of a queue's messages; it stays callable as it is.

        Example: ``@worker.handler(ResizeImage, mode="outside", concurrency=2)`` over a function.

        ``mode`` says how it is called and when the message is acknowledged:

        - "transaction": ``(message, session)``. What it writes in the session and the acknowledgment commit
          together, or neither. It is run again when Spanner aborts the transaction: no outside effects.
        - "outside": ``(message)``. Acknowledged after it returns; it runs again if the process dies before.
        - "at_most_once": ``(message)``, for long work. Acknowledged before it starts, with a message in its
          place that is due after ``run_time`` and is acknowledged at the end; so within ``run_time`` nobody
          else starts on it, whatever happens to leases.

        ``def`` runs in a thread, ``async def`` on a loop. It returns None or an outcome: Ack, Retry, Discard,
        DeadLetter (see there); what it raises is a failure, SystemExit included.

        - ``batch``: take up to so many messages at once, as a list, acknowledged in one transaction; when it
          fails, they are tried one by one.
        - ``by`` and ``type``: take one of several types in the queue. ``by`` says where a message's type is
          found: an attribute or a path (``"kind"``, ``"payload.type"``), or a function of the message.
          Without a ``type`` it takes the rest; for subclasses of a mapped class neither is needed.
        - ``concurrency``: how many of this type at once, at most.
        - ``retry``: count attempts, with a rest in between, and give up in the end; ``dead_letter``: the
          model that takes what is given up or cannot be decoded. Without ``retry`` a failed message is left
          to Spanner's own redelivery.
        - ``max_age``: messages that were due longer ago become dead letters unseen.
        - ``max_lease``: how long a lease is renewed at most; then the message goes to somebody else.
        - ``on_lease_lost``: called with the message once its lease is lost while the handler runs; a
          coroutine is cancelled too. Its acknowledgment is refused then.

        Raises HandlerError for what cannot work.

        https://docs.cloud.google.com/spanner/docs/queues/queues-examples
        """

        def register(function: FunctionT) -> FunctionT:
            self._add(
                Handler(
                    function, model, mode, batch, by, type, concurrency, retry, dead_letter, run_time,
                    max_age, max_lease, on_lease_lost,
                )
            )  # fmt: skip
            return function

        return register

    def middleware(self, function: MiddlewareT) -> MiddlewareT:
        """Put a function around every handler: ``(call, proceed)``, which returns ``proceed()``.

        It runs in the handler's thread, around the coroutine as well, and may return or raise another
        outcome; the first one that is added is the outermost. ::

            @worker.middleware
            def trace(call: Call, proceed: Callable[[], object]) -> object:
                with tracer.start_as_current_span(call.handler):
                    return proceed()
        """
        self._refuse_while_running("middleware")
        self._middleware.append(function)
        return function

    def listen(self, listener: ListenerT) -> ListenerT:
        """Call a function with each WorkerEvent: starts, successes, retries, dead letters, lost leases ...

        Example: ``worker.listen(lambda event: statsd.incr(event.name))``. It is called by the worker's
        threads and must return soon; what it raises is logged.
        """
        self._events.listen(listener)
        return listener

    def counters(self) -> dict[str, int]:
        """Return how often each event happened in this process, by the event's name.

        Example: ``worker.counters().get("message.succeeded", 0)``.
        """
        return self._events.counts()

    def run(self) -> int:
        """Run until SIGTERM, SIGINT or ``stop()``; return 0 for a clean end and 1 for a forced one.

        Example: ``sys.exit(worker.run())``. The first signal stops the intake: messages that have not
        started are handed back, running handlers finish with their leases kept, for ``shutdown_timeout``
        seconds; then they are cancelled. A second signal does that at once. Raises what a part of the worker
        died of, such as a missing permission. Signals are taken in the main thread only.

        https://docs.cloud.google.com/spanner/docs/queues/queues-using
        """
        supervisor = self._start(None)
        try:
            with supervisor.signals():
                return int(supervisor.run(self._running_crew()))
        finally:
            self._ended()

    async def run_async(self) -> int:
        """Run inside a running event loop, which runs the coroutine handlers too; otherwise like ``run``.

        Example: ``asyncio.create_task(worker.run_async())``. Cancelling it stops the worker in good order; it
        takes no signals.
        """
        supervisor = self._start(asyncio.get_running_loop())
        running = asyncio.ensure_future(asyncio.to_thread(supervisor.run, self._running_crew()))
        try:
            return int(await asyncio.shield(running))
        except asyncio.CancelledError:
            await _stop(supervisor, running)
            raise
        finally:
            self._ended()

    def drain(self, timeout: float | None = None) -> dict[str, int]:
        """Work on what is due, and return when nothing is left; return the counts of events.

        Each message is tried once; what fails stays due for its next delivery. ``timeout`` is in seconds.
        On Spanner it takes one more second to see that nothing comes, and up to 11 where another receiver has
        what is due. ::

            assert worker.drain()["message.succeeded"] == 3
        """
        before = self._events.counts()
        supervisor = self._start(None)
        try:
            with supervisor.signals():
                supervisor.drain(self._running_crew(), self._seam.ENGINE, timeout)
        finally:
            self._ended()
        after = self._events.counts()
        return {
            name: count - before.get(name, 0) for name, count in after.items() if count != before.get(name)
        }

    def stop(self) -> None:
        """Stop the worker from any thread, as the first signal does; a second call is as a second signal.

        Example: ``threading.Timer(60, worker.stop).start()``. Returns at once.
        """
        self._check_process()
        if self._supervisor is not None:
            self._supervisor.stop()

    def health(self) -> Health:
        """Return how the worker is doing, for liveness and readiness probes; asks no database.

        Example: ``return Response(status=200 if worker.health().live else 503)``.
        """
        self._check_process()
        crew, supervisor = self._crew, self._supervisor
        if crew is None or supervisor is None:
            return Health(live=False, ready=False)
        return health_of(crew, supervisor.error or crew.failure(), is_stopping=supervisor.is_stopping)

    def _add(self, handler: Handler) -> None:
        self._refuse_while_running(f"the handler {handler.name!r}")
        handler.check()
        if handler.dead_letter is not None:
            check_target(handler.name, handler.dead_letter)
        for handlers in by_queue([*self._handlers, handler]):
            Routes(handlers)
        self._handlers.append(handler)

    def _start(self, loop: asyncio.AbstractEventLoop | None) -> Supervisor:
        self._check_process()
        if self._crew is not None:
            raise SpannerQueuesError("this worker runs already; make another one, or stop it first")
        if not self._handlers:
            raise HandlerError("(none)", "the worker has no handlers", "add some with @worker.handler(Model)")
        plan = Plan(
            self.engine, self._session_factory, self.concurrency, self._spanner_database,
            self._max_batch_size, self._max_waiting_bytes, self._priority, self._handlers, self._middleware,
        )  # fmt: skip
        supervisor = Supervisor(self._events, self.shutdown_timeout)
        self._crew = Crew(plan, self._events, supervisor.failed, loop)
        self._supervisor, self._pid = supervisor, os.getpid()
        return supervisor

    def _running_crew(self) -> Crew:
        assert self._crew is not None
        return self._crew

    def _ended(self) -> None:
        self._crew, self._supervisor = None, None

    def _check_process(self) -> None:
        if self._crew is not None and self._pid != os.getpid():
            raise ForkedProcess("the worker")

    def _refuse_while_running(self, what: str) -> None:
        if self._crew is not None:
            raise SpannerQueuesError(f"{what} cannot be added while the worker runs; do so before")


async def _stop(supervisor: Supervisor, running: asyncio.Future[Any]) -> None:
    """Stop in good order; cancelled once more, at once."""
    supervisor.stop("run_async() was cancelled")
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            supervisor.stop("run_async() was cancelled again")
