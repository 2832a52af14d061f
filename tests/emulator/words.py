"""How each dialect says what the tests of the emulator say.

Words that both share stay in the tests: unquoted names fold to lower case in PostgreSQL, so that
``SELECT Id FROM q`` is good in both.
"""

from __future__ import annotations

from typing import Any, Literal

import pytest
from google.cloud.spanner_v1 import JsonObject, param_types


class GoogleSql:
    """GoogleSQL."""

    name: Literal["googlesql"] = "googlesql"
    schema: tuple[str, ...] = (
        "CREATE TABLE Users (UserId INT64 NOT NULL, Name STRING(MAX)) PRIMARY KEY (UserId)",
        """CREATE QUEUE Mails (UserId INT64 NOT NULL, MailId STRING(36) NOT NULL, Payload JSON NOT NULL)
        PRIMARY KEY (UserId, MailId), INTERLEAVE IN PARENT Users ON DELETE CASCADE""",
        "CREATE QUEUE q (Id INT64 NOT NULL, Payload STRING(MAX) NOT NULL) PRIMARY KEY (Id)",
    )
    deliver_time = "DeliverTime"
    returning = "THEN RETURN"
    json_type = param_types.JSON

    def column(self, name: str) -> str:
        """Return what the database calls a column that the schema calls so."""
        return name

    def receive(self, queue: str = "q", size: object = None, duration: str | None = None) -> str:
        """Call RECEIVE; ``size`` may be a parameter."""
        given = {"max_batch_size": size, "max_duration": duration and f"'{duration}'"}
        return f"RECEIVE_{queue}({', '.join(f'{name} => {v}' for name, v in given.items() if v is not None)})"

    def renew(self, tokens: str, queue: str = "q") -> str:
        """Call RENEWLEASE; ``tokens`` is a parameter, or string literals."""
        return f"RENEWLEASE_{queue}(lease_tokens => {tokens if tokens.startswith('@') else f'[{tokens}]'})"

    def parameter(self, number: int) -> str:
        """Write a parameter whose value is bound to the name p with this number."""
        return f"@p{number}"

    def later(self, seconds: float) -> str:
        """Write the time that is so many seconds after the database's."""
        return f"TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL {round(seconds * 1000)} MILLISECOND)"

    def time(self, text: str) -> str:
        """Write a time."""
        return f"TIMESTAMP '{text}'"

    def text(self, value: str) -> str:
        """Write a string that has the type of one also where it stands alone."""
        return f"'{value}'"

    def json(self, text: str) -> str:
        """Write a JSON value."""
        return f"JSON '{text}'"


class PostgreSql:
    """Spanner's PostgreSQL dialect."""

    name: Literal["postgresql"] = "postgresql"
    schema: tuple[str, ...] = (
        "CREATE TABLE Users (UserId bigint NOT NULL PRIMARY KEY, Name varchar)",
        """CREATE QUEUE Mails (UserId bigint NOT NULL, MailId varchar(36) NOT NULL, payload jsonb NOT NULL,
        PRIMARY KEY (UserId, MailId)) INTERLEAVE IN PARENT Users ON DELETE CASCADE""",
        "CREATE QUEUE q (Id bigint NOT NULL PRIMARY KEY, payload text NOT NULL)",
    )
    deliver_time = "deliver_time"
    returning = "RETURNING"
    json_type = param_types.PG_JSONB

    def column(self, name: str) -> str:
        return {
            "DeliverTime": "deliver_time",
            "SpannerLeaseExpirationTimestamp": "spanner_lease_expiration_timestamp",
            "SpannerLeaseToken": "spanner_lease_token",
            "SpannerLastBatchMessage": "spanner_last_batch_message",
            "SpannerOldLeaseToken": "spanner_old_lease_token",
            "SpannerNewLeaseToken": "spanner_new_lease_token",
        }.get(name, name.lower())

    def receive(self, queue: str = "q", size: object = None, duration: str | None = None) -> str:
        given = [size if size is not None else "NULL", f"'{duration}'" if duration else "NULL"]
        name = f"spanner.receive_{queue}"
        return f"{name}(max_batch_size => {given[0]}, priority => NULL, max_duration => {given[1]})"

    def renew(self, tokens: str, queue: str = "q") -> str:
        array = tokens if tokens.startswith("$") else f"ARRAY[{tokens}]"
        return f"spanner.renewlease_{queue}(lease_tokens => {array})"

    def parameter(self, number: int) -> str:
        return f"${number}"

    def later(self, seconds: float) -> str:
        return f"spanner.timestamptz_add(CURRENT_TIMESTAMP, '{round(seconds * 1000)} milliseconds')"

    def time(self, text: str) -> str:
        return f"'{text}'::timestamptz"

    def text(self, value: str) -> str:
        return f"'{value}'::text"

    def json(self, text: str) -> str:
        return f"'{text}'::jsonb"


Words = GoogleSql | PostgreSql
GOOGLESQL, POSTGRESQL = GoogleSql(), PostgreSql()

IN_BOTH_DIALECTS = pytest.mark.parametrize(
    "words", [GOOGLESQL, POSTGRESQL], ids=lambda words: str(words.name), indirect=True
)
"""Runs tests that ask for ``words``, ``empty`` or ``database`` in either dialect."""


def plain(value: Any) -> Any:
    """Return a JSON value as ordinary Python."""
    return dict(value) if isinstance(value, JsonObject) else value
