"""What ends the work on a message needs a transaction, and a commit that may get no answer."""

from __future__ import annotations

from sqlalchemy import Table
from sqlalchemy.orm import Session

from ..dialects.base import QueueDialect
from ..exc import CommitOutcomeUnknown, NotTransactional
from ..message import Lease


def require_transaction(session: Session, queue: Table, seam: QueueDialect) -> None:
    """Raise NotTransactional for a session that commits each statement by itself."""
    connection = session.connection(bind_arguments={"clause": queue})
    if seam.is_autocommit(connection):
        raise NotTransactional(queue.name)


def commit(session: Session, seam: QueueDialect, lease: Lease) -> None:
    """Commit what finishes a message; raise CommitOutcomeUnknown for a commit without an answer."""
    try:
        session.commit()
    except Exception as error:
        if not seam.outcome_is_unknown(error):
            raise
        raise CommitOutcomeUnknown(lease.queue, lease.keys) from error
