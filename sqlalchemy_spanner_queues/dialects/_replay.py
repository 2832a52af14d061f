"""Keep Spanner's driver from replaying an aborted transaction by itself, up to 50 times and out of sight.

Whoever retries as a whole, with a fresh session and a bound, must not have a second loop below it: the two
multiply. The driver has no setting for it, so that the method of its private helper is replaced on the one
connection (read in google-cloud-spanner 3.71.0; tests/unit/test_replay.py fails when it changes).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NoReturn

from sqlalchemy.engine import Connection

from ..exc import TransactionAborted

_OWNER = "_spanner_queues_owner"


@contextmanager
def without_replay(connection: Connection) -> Generator[None]:
    """Raise what aborts a transaction of this connection, for the length of the block."""
    driver: Any = connection.connection.driver_connection
    helper, owner = driver._transaction_helper, object()
    if not hasattr(helper, _OWNER):
        helper.retry_transaction = _Switch(helper, helper.retry_transaction)
    setattr(helper, _OWNER, owner)
    try:
        yield
    finally:
        # The pool may have lent the connection to the next one, whose word counts then.
        if getattr(helper, _OWNER) is owner:
            setattr(helper, _OWNER, None)


class _Switch:
    def __init__(self, helper: Any, replay: Callable[..., None]) -> None:
        self._helper = helper
        self._replay = replay

    def __call__(self, *args: Any, **kw: Any) -> None:
        if getattr(self._helper, _OWNER) is not None:
            _give_up()
        self._replay(*args, **kw)


def _give_up() -> NoReturn:
    # A batch of statements reports the status without an exception.
    raise TransactionAborted from sys.exception()
