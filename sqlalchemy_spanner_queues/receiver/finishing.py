"""End the work on messages: acknowledge them in its transaction, and commit, which may get no answer."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Table
from sqlalchemy.orm import Session

from ..dialects.base import QueueDialect
from ..exc import CommitOutcomeUnknown, NotTransactional
from ..message import Lease
from ..orm import QueueMessage
from ..outbox import acknowledge
from .keeper import LeaseKeeper


def require_transaction(session: Session, queue: Table, seam: QueueDialect) -> None:
    """Raise NotTransactional for a session that commits each statement by itself."""
    connection = session.connection(bind_arguments={"clause": queue})
    if seam.is_autocommit(connection):
        raise NotTransactional(queue.name)


def acknowledge_in(session: Session, messages: Sequence[QueueMessage], keeper: LeaseKeeper | None) -> None:
    """Acknowledge messages in a session whose commit comes next, if their leases are still ours."""
    leases = [message.lease for message in messages]
    for lease in leases:
        lease.raise_if_lost()
    acknowledge(session, *messages)
    session.flush()
    if keeper is not None:
        keeper.finishing(*leases)


def commit(session: Session, seam: QueueDialect, lease: Lease) -> None:
    """Commit what finishes a message; raise CommitOutcomeUnknown for a commit without an answer."""
    try:
        session.commit()
    except Exception as error:
        if not seam.outcome_is_unknown(error):
            raise
        raise CommitOutcomeUnknown(lease.queue, lease.keys) from error
