"""The driver's own replay of aborted transactions is switched off where the worker retries as a whole."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest
from google.api_core.exceptions import Aborted
from google.cloud.spanner_dbapi import batch_dml_executor, cursor
from google.cloud.spanner_dbapi.connection import Connection
from google.cloud.spanner_dbapi.transaction_helper import TransactionRetryHelper
from sqlalchemy.exc import DBAPIError

from sqlalchemy_spanner_queues.dialects import _replay, for_dialect
from sqlalchemy_spanner_queues.exc import TransactionAborted
from tests.unit.dialects import GOOGLESQL, SQLITE


class Helper:
    """What stands in for the driver's helper: it notes that it was asked to replay."""

    def __init__(self) -> None:
        self.replayed = 0

    def retry_transaction(self, *args: Any, **kw: Any) -> None:
        self.replayed += 1


def connection(helper: Any) -> Any:
    driver = SimpleNamespace(_transaction_helper=helper)
    return SimpleNamespace(connection=SimpleNamespace(driver_connection=driver))


def test_the_driver_still_has_what_is_replaced() -> None:
    driver = Connection(SimpleNamespace(name="instance"), SimpleNamespace(name="database"))  # type: ignore[arg-type]
    assert isinstance(driver._transaction_helper, TransactionRetryHelper)
    assert callable(driver._transaction_helper.retry_transaction)
    # An instance's attribute takes the place of the method.
    assert not hasattr(TransactionRetryHelper, "__slots__")


def aborted_driver() -> Connection:
    """Return a connection of the driver's whose next commit is aborted."""
    driver = Connection(SimpleNamespace(name="instance"), SimpleNamespace(name="database"))  # type: ignore[arg-type]

    def abort() -> None:
        raise Aborted("by somebody else")

    driver._transaction = SimpleNamespace(commit=abort)
    driver._spanner_transaction_started = True
    return driver


def test_the_driver_still_comes_by_when_a_commit_is_aborted() -> None:
    driver = aborted_driver()
    with _replay.without_replay(connection(driver._transaction_helper)):
        with pytest.raises(TransactionAborted) as raised:
            driver.commit()
        assert isinstance(raised.value.__cause__, Aborted)


@pytest.mark.parametrize("module", [cursor, batch_dml_executor], ids=lambda module: module.__name__)
def test_the_driver_still_comes_by_when_a_statement_is_aborted(module: Any) -> None:
    assert "transaction_helper.retry_transaction()" in inspect.getsource(module)


def test_a_batch_that_reports_the_status_without_an_error_is_raised_too() -> None:
    helper = Helper()
    with _replay.without_replay(connection(helper)), pytest.raises(TransactionAborted) as raised:
        helper.retry_transaction()
    assert raised.value.__cause__ is None


def test_everybody_elses_transactions_are_replayed_as_ever() -> None:
    helper = Helper()
    with _replay.without_replay(connection(helper)):
        pass
    helper.retry_transaction()
    assert helper.replayed == 1


def test_it_is_on_again_after_an_error() -> None:
    helper = Helper()
    with pytest.raises(LookupError), _replay.without_replay(connection(helper)):
        raise LookupError
    helper.retry_transaction()
    assert helper.replayed == 1


def test_a_connection_that_was_lent_on_belongs_to_the_next_one() -> None:
    helper = Helper()
    first = _replay.without_replay(connection(helper))
    first.__enter__()
    with _replay.without_replay(connection(helper)):
        first.__exit__(None, None, None)
        with pytest.raises(TransactionAborted):
            helper.retry_transaction()
    helper.retry_transaction()
    assert helper.replayed == 1


def test_what_it_raises_is_taken_for_an_abort_as_it_is_and_wrapped() -> None:
    wrapped = DBAPIError("COMMIT", None, Exception())
    wrapped.__cause__ = TransactionAborted()
    for dialect in (GOOGLESQL, SQLITE):
        assert for_dialect(dialect).is_aborted(TransactionAborted())
        assert not for_dialect(dialect).is_aborted(LookupError())
    assert for_dialect(GOOGLESQL).is_aborted(Aborted("by somebody else"))
