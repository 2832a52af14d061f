"""The ends of a message: each is written in one transaction that also drops what is counted of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Table, and_, bindparam, inspect, or_, select
from sqlalchemy.orm import Session

from .. import _mapping
from ..columns import Delay, Instant
from ..definition import definition_of
from ..outbox import acknowledge
from .attempts import Attempts, key_json
from .dead_letter import DeadMessage, bury
from .job import Job
from .storing import insert_stored

LONGEST_TEXT: Final = 8000
# A Spanner query takes 950.
MOST_PARAMETERS: Final = 900
# Deliver times are compared to the microsecond, which is what Python keeps of them.
_STEP: Final = timedelta(microseconds=1)


class Settling:
    """Write what becomes of one queue's messages, in sessions that the caller commits."""

    def __init__(self, queue: Table, attempts: Attempts | None) -> None:
        self._queue = queue
        self._attempts = attempts
        definition = definition_of(queue)
        self._deliver_time = definition.deliver_time
        # Only this message: one of the same key that took its place since is due later than this one was.
        self._delete = queue.delete().where(
            *[column == bindparam(column.key) for column in definition.keys],
            self._deliver_time < bindparam("due_to", type_=Instant()),
        )

    def count(self, session: Session, jobs: Sequence[Job]) -> tuple[list[Job], list[Job]]:
        """Count an attempt, for handlers that give up after some; see Attempts.count.

        Returns the jobs that are counted, and those whose messages are gone: what is counted of them would
        stay for ever.
        """
        if self._attempts is None or jobs[0].handler.retry is None:
            return list(jobs), []
        there = self._there(session, jobs)
        counted = self._attempts.count(session, there) if there else []
        return counted, [job for job in jobs if job not in there]

    def forget(self, session: Session, jobs: Sequence[Job]) -> None:
        """Drop what is counted of messages that end here."""
        counted = [job for job in jobs if job.attempts]
        if self._attempts is not None and counted:
            self._attempts.forget(session, counted)

    def acknowledge(self, session: Session, jobs: Sequence[Job]) -> None:
        """Acknowledge messages in a handler's session; it may have done so itself."""
        left = [job for job in jobs if not _mapping.is_acknowledged(session, job.message)]
        known = [job for job in left if inspect(job.message).key in session.identity_map]
        # A statement takes half as long as the unit of work, which is for what the session knows. It comes
        # before what is not flushed yet: the handler may delete the parent.
        with session.no_autoflush:
            self._remove(session, [job for job in left if job not in known] if known else left)
        acknowledge(session, *[job.message for job in known])
        session.flush()
        self.forget(session, jobs)

    def remove(self, session: Session, jobs: Sequence[Job]) -> None:
        """Acknowledge messages; raises MessageAlreadyAcknowledged where one is gone."""
        self._remove(session, jobs)
        self.forget(session, jobs)

    def resend(self, session: Session, job: Job, delay: timedelta) -> None:
        """Put a message in the place of this one, due later; the count goes on."""
        self._remove(session, [job])
        insert_stored(session, self._queue, job.keys, job.stored, Delay(delay))
        if self._attempts is not None and job.attempts:
            self._attempts.keep_for_next(session, job)

    def deliver_time(self, session: Session, job: Job) -> datetime:
        """Return the deliver time of the message with this key."""
        definition = definition_of(self._queue)
        where = [column == job.keys[column.key] for column in definition.keys]
        statement = self._queue.select().with_only_columns(self._deliver_time).where(*where)
        found: datetime = session.execute(statement).scalar_one()
        return found

    def bury(self, session: Session, job: Job, model: type[Any], reason: str, traceback: str) -> None:
        """Move a message to the dead letters."""
        stored = job.stored if isinstance(job.stored, bytes) else job.stored.encode()
        dead = DeadMessage(
            queue=str(self._queue.name),
            key=key_json(job.keys),
            payload=stored,
            reason=_storable(reason),
            traceback=_storable(traceback),
            attempts=job.attempts,
            deliver_time=job.deliver_time,
            first_attempt_at=job.first_attempt_at,
            last_attempt_at=job.delivered_at,
        )
        self._remove(session, [job])
        self.forget(session, [job])
        bury(session, model, dead)
        session.flush()

    def _there(self, session: Session, jobs: Sequence[Job]) -> list[Job]:
        columns = definition_of(self._queue).keys
        rows: list[Any] = []
        step = MOST_PARAMETERS // len(columns)
        for start in range(0, len(jobs), step):
            keys = [job.keys for job in jobs[start : start + step]]
            wanted = or_(*[and_(*[column == key[column.key] for column in columns]) for key in keys])
            rows += session.execute(select(*columns).where(wanted))
        if len(rows) == len(jobs):
            return list(jobs)
        found = {tuple(row) for row in rows}
        return [job for job in jobs if tuple(job.keys[column.key] for column in columns) in found]

    def _remove(self, session: Session, jobs: Sequence[Job]) -> None:
        rows = [{**job.keys, "due_to": (job.due or job.deliver_time) + _STEP} for job in jobs]
        if rows:
            session.execute(self._delete, rows)


def _storable(text: str) -> str:
    """Return what an error says as a database takes it: file names may have parts that are no characters."""
    return text[:LONGEST_TEXT].encode("utf-8", "backslashreplace").decode()
