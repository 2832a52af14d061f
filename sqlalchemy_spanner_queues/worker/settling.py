"""The ends of a message: each is written in one transaction that also drops what is counted of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Table, bindparam, inspect
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
# Deliver times are compared to the microsecond, which is what Python keeps of them.
_STEP: Final = timedelta(microseconds=1)


class Settling:
    """Write what becomes of one queue's messages, in sessions that the caller commits."""

    def __init__(self, queue: Table, attempts: Attempts | None) -> None:
        self._queue = queue
        self._attempts = attempts
        definition = definition_of(queue)
        self._deliver_time = definition.deliver_time
        self._delete = queue.delete().where(*[column == bindparam(column.key) for column in definition.keys])
        # Only the message that took the first one's place, not one that took its place in turn.
        self._delete_due = self._delete.where(
            self._deliver_time >= bindparam("due_from", type_=Instant()),
            self._deliver_time < bindparam("due_to", type_=Instant()),
        )

    def count(self, session: Session, jobs: Sequence[Job]) -> None:
        """Count an attempt, for handlers that give up after some."""
        if self._attempts is not None and jobs[0].handler.retry is not None:
            self._attempts.count(session, jobs)

    def forget(self, session: Session, jobs: Sequence[Job]) -> None:
        """Drop what is counted of messages that end here."""
        counted = [job for job in jobs if job.attempts]
        if self._attempts is not None and counted:
            self._attempts.forget(session, counted)

    def acknowledge(self, session: Session, jobs: Sequence[Job]) -> None:
        """Acknowledge messages in a handler's session; it may have done so itself."""
        left = [job for job in jobs if not _mapping.is_acknowledged(session, job.message)]
        # What the session knows is left to its unit of work, and what it has not written is written after.
        known = [job.message for job in left if inspect(job.message).key in session.identity_map]
        self._remove(session, [job for job in left if job.message not in known])
        acknowledge(session, *known)
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
            queue=self._queue.name,
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

    def _remove(self, session: Session, jobs: Sequence[Job]) -> None:
        replaced = [job for job in jobs if job.due is not None]
        others = [job for job in jobs if job.due is None]
        if others:
            session.execute(self._delete, [job.keys for job in others])
        for job in replaced:
            assert job.due is not None
            due = {"due_from": job.due, "due_to": job.due + _STEP}
            session.execute(self._delete_due, {**job.keys, **due})


def _storable(text: str) -> str:
    """Return what an error says as a database takes it: file names may have parts that are no characters."""
    return text[:LONGEST_TEXT].encode("utf-8", "backslashreplace").decode()
