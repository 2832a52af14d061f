"""What a statement becomes before it goes upstream: checked against its queue, by another clock or schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import _protos as pb
from ..database import Database
from ..errors import invalid, refusal_of
from ..state import State
from ..text.assertions import Assertion, find_assertion
from ..text.definition import QueueDefinition
from ..text.functions import FunctionQuery, find_function
from ..text.inserts import sent_now
from ..text.reading import SqlError
from ..text.statements import Dml, find_dml, updates_on_conflict
from ..writing.mutations import check_send
from .projection import PLAN


@dataclass(slots=True)
class Prepared:
    """A statement for upstream, the queue that it sends to (lower case), and its assertion."""

    sql: str
    sent: set[str] = field(default_factory=lambda: set[str]())
    assertion: Assertion | None = None


async def queue_function(database: Database, sql: str) -> FunctionQuery | None:
    """Find RECEIVE or RENEWLEASE in a query.

    Raises Refusal when it stands in a place where it is not supported.
    """
    lowered = sql.lower()
    if "receive_" not in lowered and "renewlease_" not in lowered:
        return None
    try:
        return find_function(sql, await database.definitions(), await database.known_dialect())
    except SqlError as error:
        raise refusal_of(error) from error


async def prepare(state: State, database: Database, sql: str) -> Prepared:
    """Make a statement ready for upstream.

    Raises Refusal when its queue does not support it.
    """
    lowered = sql.lower()
    if "information_schema" in lowered and not state.native_queues:
        sql = await database.with_queues(sql)
    if not any(word in lowered for word in ("insert", "update", "assert_rows_modified")):
        return Prepared(sql)
    dialect = await database.known_dialect()
    prepared = Prepared(sql, assertion=find_assertion(sql, dialect))
    if prepared.assertion is not None:
        prepared.sql = prepared.assertion.statement
    dml = find_dml(sql, dialect)
    queue = await _changed_queue(database, dml)
    if dml is None or queue is None or dml.verb == "DELETE":
        return prepared
    if dml.verb != "INSERT" or updates_on_conflict(sql, dialect):
        raise invalid(f"{_refused(dml)} is not supported on queue {queue.name}")
    check_send(queue)
    prepared.sql = sent_now(prepared.sql, queue, dialect, state.clock.offset)
    prepared.sent.add(queue.name.lower())
    return prepared


def _refused(dml: Dml) -> str:
    return "INSERT ... ON CONFLICT DO UPDATE" if dml.verb == "INSERT" else dml.verb


async def _changed_queue(database: Database, dml: Dml | None) -> QueueDefinition | None:
    if dml is None:
        return None
    definitions: Mapping[str, QueueDefinition] = await database.definitions()
    return definitions.get(dml.table.lower())


def replace_sql(request: pb.ExecuteSqlRequest, prepared: Prepared) -> bool:
    """Put the prepared text into a request; tell whether it is another one.

    A plan changes nothing, so that nothing is asserted about it.
    """
    if request.query_mode == PLAN:
        prepared.assertion = None
    if request.sql == prepared.sql:
        return False
    request.sql = prepared.sql
    return True
