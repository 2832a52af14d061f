"""What a database error means is read from the database's words, never from the statement that failed."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core.exceptions import AlreadyExists, GoogleAPICallError, InvalidArgument, OutOfRange
from google.cloud.spanner_dbapi.exceptions import IntegrityError, OperationalError, ProgrammingError
from sqlalchemy.exc import DBAPIError

from sqlalchemy_spanner_queues.dialects import Failure, for_dialect
from tests.unit.dialects import GOOGLESQL, POSTGRESQL, SQLITE

SQL = "DELETE FROM q WHERE k = %s ASSERT_ROWS_MODIFIED 1"
# A key that says what the databases say of other failures.
KEY = "already exists, UNIQUE constraint failed, previously existing row, ASSERT_ROWS_MODIFIED"


def wrapped(driver: Exception, cause: GoogleAPICallError | None = None) -> Exception:
    """Return the error as SQLAlchemy raises it, with statement and parameters in its text."""
    driver.__cause__ = cause
    error: Any = DBAPIError.instance(SQL, [KEY], driver, Exception)
    assert KEY in str(error)
    return error


@pytest.mark.parametrize("dialect", [GOOGLESQL, POSTGRESQL, SQLITE], ids=["google", "pg", "sqlite"])
def test_words_of_the_statement_and_its_parameters_do_not_count(dialect: Any) -> None:
    error = wrapped(OperationalError("the server is overloaded"))
    assert for_dialect(dialect).classify(error) is None


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (wrapped(IntegrityError([]), OutOfRange("expected 1 row")), Failure.GONE),
        (wrapped(OperationalError("ASSERT_ROWS_MODIFIED expected 1, found 0")), Failure.GONE),
        (wrapped(ProgrammingError([]), InvalidArgument(f"Syntax error in {SQL}")), None),
        (wrapped(IntegrityError([]), AlreadyExists("Row [1]")), Failure.DUPLICATE),
        (wrapped(OperationalError("Row [1] in table q already exists")), Failure.DUPLICATE),
    ],
)
def test_what_spanner_says_counts(error: Exception, meaning: Failure | None) -> None:
    assert for_dialect(GOOGLESQL).classify(error) is meaning
