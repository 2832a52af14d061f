"""Count how often handlers started on a message, in a table, so that a killed process counts too.

::

    attempts = attempts_table(Base.metadata)      # beside the models; create_all() makes it

A row is written in a transaction of its own before a handler with a RetryPolicy starts, and deleted in the
transaction that ends the message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    MetaData,
    String,
    Table,
    and_,
    bindparam,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session

from ..columns import Instant
from .job import Job

_INFO_KEY: Final = "spanner_queue_attempts"
# A key may be of 8 KB, and a part of this table's key may not.
LONGEST_KEY: Final = 500
_KEYS_A_QUERY: Final = 200


def attempts_table(metadata: MetaData, name: str = "MessageAttempts") -> Table:
    """Declare the table that counts attempts, for all queues of a metadata.

    Example: ``attempts_table(Base.metadata)`` beside the models; a Worker finds it there. A row is there only
    while a message waits for its next attempt or is worked on: at most one for each message.

    https://docs.cloud.google.com/spanner/docs/queues/queues-overview
    """
    return Table(
        name,
        metadata,
        Column("QueueName", String(128), primary_key=True, key="queue"),
        Column("MessageKey", String(LONGEST_KEY + 70), primary_key=True, key="message"),
        Column("Attempts", BigInteger, nullable=False, key="attempts"),
        Column("FirstAttemptAt", Instant(), nullable=False, key="first_attempt_at"),
        Column("LastAttemptAt", Instant(), nullable=False, key="last_attempt_at"),
        Column("DeliverTime", Instant(), nullable=True, key="deliver_time"),
        info={_INFO_KEY: True},
    )


def find_attempts_table(metadata: MetaData) -> Table | None:
    """Return the table that ``attempts_table`` declared in a metadata."""
    return next((table for table in metadata.tables.values() if table.info.get(_INFO_KEY)), None)


def key_json(keys: Mapping[str, object]) -> str:
    """Return the key of a message as JSON: its values in order."""
    return msgspec.json.encode(list(keys.values())).decode()


def key_text(keys: Mapping[str, object]) -> str:
    """Return the key of a message as text: JSON, or the start of it and a hash where that is long."""
    text = key_json(keys)
    if len(text) <= LONGEST_KEY:
        return text
    return f"{text[:LONGEST_KEY]}#{hashlib.sha256(text.encode()).hexdigest()}"


@dataclass(frozen=True)
class _Counted:
    attempts: int
    first: datetime
    deliver_time: datetime | None


class Attempts:
    """The rows of one queue in the table."""

    def __init__(self, table: Table, queue: str) -> None:
        self._table = table
        self._queue = queue
        c = table.c
        row = and_(c.queue == queue, c.message == bindparam("this_message"))
        self._delete = table.delete().where(row)
        self._update = (
            update(table)
            .where(row)
            .values(
                attempts=bindparam("new_attempts"),
                first_attempt_at=bindparam("new_first"),
                last_attempt_at=bindparam("new_last"),
                deliver_time=bindparam("new_deliver_time"),
            )
        )
        self._insert = insert(table)
        self._unpin = update(table).where(row).values(deliver_time=None)

    def count(self, session: Session, jobs: Sequence[Job]) -> list[Job]:
        """Count one more attempt in the session's transaction, and tell the jobs; return those counted.

        Of several only those are counted that start for the first time: the others are to start alone, each
        when its turn comes.
        """
        known = self._read(session, jobs)
        for job in jobs:
            found = known.get(key_text(job.keys))
            # A message that was sent anew under the same key starts from the beginning.
            goes_on = found is not None and found.deliver_time in (None, job.deliver_time)
            job.attempts = found.attempts if found is not None and goes_on else 0
            job.first_attempt_at = found.first if found is not None and goes_on else job.delivered_at
        counted = [job for job in jobs if not job.attempts or len(jobs) == 1]
        for job in counted:
            job.attempts += 1
        self._write(session, counted, known)
        return counted

    def _write(self, session: Session, jobs: Sequence[Job], known: Mapping[str, _Counted]) -> None:
        new = [job for job in jobs if key_text(job.keys) not in known]
        old = [job for job in jobs if key_text(job.keys) in known]
        if new:
            session.execute(self._insert, [self._inserted(job) for job in new])
        if old:
            session.execute(self._update, [self._updated(job) for job in old])

    def forget(self, session: Session, jobs: Sequence[Job]) -> None:
        """Drop the rows of messages that are ended."""
        session.execute(self._delete, [{"this_message": key_text(job.keys)} for job in jobs])

    def keep_for_next(self, session: Session, job: Job) -> None:
        """Let the count go on with the message that takes this one's place, whatever its deliver time."""
        session.execute(self._unpin, {"this_message": key_text(job.keys)})

    def _read(self, session: Session, jobs: Sequence[Job]) -> dict[str, _Counted]:
        c = self._table.c
        columns = (c.message, c.attempts, c.first_attempt_at, c.deliver_time)
        known: dict[str, _Counted] = {}
        for start in range(0, len(jobs), _KEYS_A_QUERY):
            wanted = or_(*[c.message == key_text(job.keys) for job in jobs[start : start + _KEYS_A_QUERY]])
            for row in session.execute(select(*columns).where(c.queue == self._queue, wanted)):
                known[row[0]] = _Counted(*row[1:])
        return known

    def _inserted(self, job: Job) -> dict[str, Any]:
        return {
            "queue": self._queue,
            "message": key_text(job.keys),
            "attempts": job.attempts,
            "first_attempt_at": job.first_attempt_at,
            "last_attempt_at": job.delivered_at,
            "deliver_time": job.deliver_time,
        }

    def _updated(self, job: Job) -> dict[str, Any]:
        return {
            "this_message": key_text(job.keys),
            "new_attempts": job.attempts,
            "new_first": job.first_attempt_at,
            "new_last": job.delivered_at,
            "new_deliver_time": job.deliver_time,
        }
