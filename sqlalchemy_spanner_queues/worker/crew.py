"""A worker that runs: its lanes, what keeps their leases, and the loop of its coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, MetaData, Table, inspect, or_, select
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from .. import _mapping
from ..definition import definition_of
from ..dialects import for_dialect
from ..exc import HandlerError
from ..message import Lease, mark_lost
from ..orm import QueueMessage
from ..receiver import keepers
from ..receiver.finishing import require_transaction
from ..receiver.keeper import LeaseKeeper
from ..receiver.reader import Reader
from ..receiver.rows import MessageFactory
from ..receiver.transport import ReceivedRow, Transport
from ..receiver.transports import transport_for
from .attempts import Attempts, find_attempts_table
from .calling import Caller, LoopThread, Middleware
from .demand import Demand
from .events import Events
from .handler import Handler
from .job import Job
from .lane import Lane
from .processing import Processing
from .routing import Routes
from .settling import Settling
from .telling import Telling
from .transactions import Transactions

LOOP_CLOSE_SECONDS = 1.0
MOST_DUE_KEYS = 1000


@dataclass(frozen=True)
class Plan:
    """What a worker is to do, once it runs."""

    engine: Engine
    session_factory: Callable[[], Session]
    concurrency: int
    spanner_database: str | None
    max_batch_size: int | None
    max_waiting_bytes: int
    priority: int | str | None
    handlers: Sequence[Handler]
    middleware: Sequence[Middleware]


class Crew:
    """Everything that runs for a worker between its start and its end.

    ``failed`` is called, by any thread, with the error that a part of it died of.
    """

    def __init__(
        self,
        plan: Plan,
        told: Events,
        failed: Callable[[BaseException], None],
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._plan = plan
        self._events = told
        self._failed = failed
        self._own_loop = LoopThread()
        self._loop: Callable[[], asyncio.AbstractEventLoop] = self._own_loop if loop is None else lambda: loop
        self._keepers: list[tuple[str, LeaseKeeper]] = []
        self._seam = for_dialect(plan.engine.dialect, "running a worker")
        # What cannot work is refused before anything is taken hold of.
        found = [(routes, _attempts(routes)) for routes in map(Routes, by_queue(plan.handlers))]
        self.lanes = [self._lane(routes, attempts) for routes, attempts in found]

    def start(self) -> None:
        """Start all lanes; raises NotTransactional for sessions that commit statement by statement."""
        for lane in self.lanes:
            with self._plan.session_factory() as session:
                require_transaction(session, lane.table, self._seam)
        for lane in self.lanes:
            lane.start()

    def failure(self) -> BaseException | None:
        """Return what a lease keeper died of."""
        return next((keeper.failure for _queue, keeper in self._keepers if keeper.failure is not None), None)

    def stop_intake(self) -> None:
        for lane in self.lanes:
            lane.stop_intake()

    def running(self) -> list[Job]:
        return [job for lane in self.lanes for job in lane.running()]

    def is_over(self) -> bool:
        """Return whether nothing is worked on any more."""
        return all(lane.is_over() for lane in self.lanes)

    def cancel(self, reason: str) -> None:
        """Give up what still runs: cancel coroutines, and refuse the acknowledgments of the rest."""
        for job in self.running():
            mark_lost(job.lease, reason)

    def close(self) -> None:
        for lane in self.lanes:
            lane.close()
        for queue, keeper in self._keepers:
            keepers.release(self._plan.engine.dialect, queue, keeper)
        self._keepers.clear()
        self._own_loop.close(LOOP_CLOSE_SECONDS)

    def is_idle(self, seconds: float) -> bool:
        return all(lane.is_idle(seconds) for lane in self.lanes)

    def has_due(self) -> bool:
        """Return whether messages are due that were not tried since that is noted."""
        return any(self._untried(lane) for lane in self.lanes)

    def _untried(self, lane: Lane) -> bool:
        definition = definition_of(lane.table)
        keys = [column.label(None) for column in definition.keys]
        is_due = self._seam.is_due(definition, self._plan.engine.dialect)
        statement = select(*keys).select_from(lane.table).where(is_due).limit(MOST_DUE_KEYS)
        with self._plan.session_factory() as session:
            rows = session.execute(statement).all()
        tried = lane.tried()
        return any(tuple(row) not in tried for row in rows)

    def _lane(self, routes: Routes, attempts: Attempts | None) -> Lane:
        plan, queue = self._plan, routes.queue
        factory = MessageFactory(routes.model)
        keeper = keepers.acquire(plan.engine.dialect, queue.name, lambda: LeaseKeeper(self._transport(queue)))
        self._keepers.append((queue.name, keeper))
        demand = Demand(
            plan.concurrency,
            max(handler.batch_size for handler in routes.handlers),
            max_batch_size=plan.max_batch_size,
            priority=plan.priority,
            where=_only(routes.handlers),
        )
        reader: Reader[QueueMessage] = Reader(
            self._transport(queue),
            lambda: demand(lane.mean_seconds, lane.free()),
            keeper,
            max(handler.max_lease for handler in routes.handlers).total_seconds(),
            lambda row: _make(factory, row),
            most_bytes=plan.max_waiting_bytes,
        )
        work = self._processing(routes, attempts, keeper)
        lane = Lane(routes, reader, keeper, work, self._events, plan.concurrency, self._failed)
        return lane

    def _processing(self, routes: Routes, attempts: Attempts | None, keeper: LeaseKeeper) -> Processing:
        plan = self._plan
        return Processing(
            Transactions(plan.session_factory, routes.model, self._seam, self._events),
            Settling(routes.queue, attempts),
            keeper,
            Caller(plan.middleware, self._loop),
            Telling(self._events),
        )

    def _transport(self, queue: Table) -> Transport:
        return transport_for(self._plan.engine, queue, self._plan.spanner_database)


def by_queue(handlers: Sequence[Handler]) -> list[list[Handler]]:
    """Return the handlers of each queue together."""
    found: dict[Table, list[Handler]] = {}
    for handler in handlers:
        found.setdefault(_mapping.queue_table(inspect(handler.model)), []).append(handler)
    return list(found.values())


def _make(factory: MessageFactory, row: ReceivedRow) -> tuple[QueueMessage, Lease]:
    message = factory(row)
    return message, message.lease


def _only(handlers: Sequence[Handler]) -> ColumnElement[bool] | None:
    """Return the filter for what the handlers take, where the database can tell."""
    filters = [MessageFactory(handler.model).only(None) for handler in handlers]
    wanted = [condition for condition in filters if condition is not None]
    return or_(*wanted) if len(wanted) == len(filters) else None


def _attempts(routes: Routes) -> Attempts | None:
    """Return the attempts of a queue, where a handler counts them."""
    counting = next((handler for handler in routes.handlers if handler.retry is not None), None)
    metadata: MetaData = routes.queue.metadata
    table = find_attempts_table(metadata)
    if counting is not None and table is None:
        raise HandlerError(
            counting.name,
            f"it counts attempts, and there is no table for them in the metadata of {routes.queue.name!r}",
            "declare it beside the models: attempts_table(Base.metadata)",
        )
    return None if table is None or counting is None else Attempts(table, routes.queue.name)
