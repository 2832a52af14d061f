"""What each test says in its docstring: the fault, what its client sees, and what holds afterwards.

::

    Commit fails before it is applied: INTERNAL.

    client: InternalServerError; 1 ExecuteSql, 1 Commit
    queue: nothing of the transaction
    receiver: nothing

The line of the client is compared with what a test observes, and docs/faults.md with all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

NO_ERROR = "no error"
# Made when they are needed, so that they count only where a test is about them.
SESSIONS = ("CreateSession", "BatchCreateSessions")
# In the order of a client's work.
REQUESTS = (
    *SESSIONS,
    "UpdateDatabaseDdl",
    "GetDatabaseDdl",
    "BeginTransaction",
    "ExecuteSql",
    "ExecuteBatchDml",
    "ExecuteStreamingSql",
    "Commit",
    "Rollback",
)


@dataclass(frozen=True)
class View:
    """The docstring of a test, taken apart; ``name`` is that of the test.

    ``client`` is the type of the error, or some that parameters choose from, and the requests.
    """

    name: str
    fault: str
    client: str
    queue: str
    receiver: str

    @classmethod
    def of(cls, test: Callable[..., Any]) -> View:
        """Read the docstring of a test.

        Raises TypeError when a line is missing.
        """
        fault, _, rest = inspect.cleandoc(test.__doc__ or "").partition("\n\n")
        told = dict(line.split(": ", 1) for line in rest.replace("\n  ", " ").splitlines())
        return cls(test.__name__.removeprefix("test_"), _one_line(fault).rstrip("."), **told)

    def check(self, error: str, requests: Mapping[str, int]) -> None:
        """Compare what a client saw: the type of its error, and how often it requested each method."""
        errors, _, counts = self.client.partition("; ")
        told = [name for name in errors.split(" or ") if name == error] or errors
        shown = [name for name in REQUESTS if name in requests and (name in counts or name not in SESSIONS)]
        seen = ", ".join(f"{requests[name]} {name}" for name in shown)
        assert ([error], seen) == (told, counts)


def _one_line(text: str) -> str:
    return " ".join(text.split())
