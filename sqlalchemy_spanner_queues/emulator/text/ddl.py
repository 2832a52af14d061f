"""Translate DDL: statements about queues into the tables that stand for them, and schemas back.

::

    plan = translate(["CREATE TABLE ...", "CREATE QUEUE ...", "GRANT ..."], Schema(), GOOGLESQL)
    plan.statements     # what goes upstream, in order
    plan.schema.queues  # the queues that exist afterwards

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from .access import VIEWS, Access, is_about_access
from .definition import QueueDefinition
from .dialect import MARK, Dialect
from .queue_text import queue_name
from .reading import Reader, SqlError
from .tokens import Kind, TokenError


@dataclass(slots=True)
class Schema:
    """What a database has that upstream does not know: queues by lower-case name, and roles."""

    queues: dict[str, QueueDefinition] = field(default_factory=lambda: dict[str, QueueDefinition]())
    access: Access = field(default_factory=Access)


@dataclass(slots=True)
class Plan:
    """What a list of statements comes to: texts for upstream, and the schema afterwards."""

    dialect: Dialect
    schema: Schema
    statements: list[str] = field(default_factory=lambda: list[str]())
    changed: bool = False
    dropped: set[str] = field(default_factory=lambda: set[str]())
    """The queues, by lower-case name, that are dropped, also when one of the same name is made anew."""

    def define(self, queue: QueueDefinition) -> None:
        """Note that a queue exists with this definition."""
        self.schema.queues[queue.name.lower()] = queue

    def existing(self, reader: Reader) -> QueueDefinition:
        """Take a name that has to be a queue's."""
        name = queue_name(reader)
        queue = self.schema.queues.get(name.lower())
        if queue is None:
            raise SqlError(f"Queue not found: {name}", "not found")
        return queue


def translate(statements: Iterable[str], schema: Schema, dialect: Dialect) -> Plan:
    """Translate DDL statements in their order.

    Raises SqlError, before anything was sent, when a statement about a queue breaks a rule.
    """
    plan = Plan(dialect, Schema(dict(schema.queues), schema.access.copy()))
    for sql in statements:
        _translate_one(sql, plan)
    if plan.schema.access != schema.access:
        plan.statements.append(plan.schema.access.carry(dialect))
    return plan


def _translate_one(sql: str, plan: Plan) -> None:
    try:
        reader = Reader(sql, plan.dialect.tokenize(sql))
    except TokenError:
        plan.statements.append(sql)
        return
    for words, handle in _STATEMENTS:
        if reader.words(*words):
            plan.changed = True
            handle(reader, plan)
            return
    if is_about_access(reader):
        plan.changed = True
        plan.schema.access.apply(reader, plan.dialect, plan.schema.queues)
        return
    _refuse_table_ddl(reader, plan)
    plan.statements.append(sql)


def _create(reader: Reader, plan: Plan) -> None:
    guarded = reader.words("IF", "NOT", "EXISTS")
    reader.position = 0
    queue = plan.dialect.parse_create_queue(reader)
    if queue.name.lower() in plan.schema.queues:
        if guarded:
            return
        raise SqlError(f"Duplicate name in schema: {queue.name}.", "in use")
    plan.statements.append(plan.dialect.create_table(queue, if_not_exists=guarded))
    plan.define(queue)


def _drop(reader: Reader, plan: Plan) -> None:
    guarded = reader.words("IF", "EXISTS")
    name = queue_name(reader)
    reader.expect_end()
    if name.lower() not in plan.schema.queues:
        if guarded:
            return
        raise SqlError(f"Queue not found: {name}", "not found")
    queue = plan.schema.queues.pop(name.lower())
    plan.dropped.add(name.lower())
    plan.schema.access.forget(queue, plan.dialect)
    plan.statements.append(f"DROP TABLE {plan.dialect.quote_name(queue.name)}")


def _alter(reader: Reader, plan: Plan) -> None:
    queue = plan.existing(reader)
    changed, actions = plan.dialect.alter_queue(reader, queue)
    reader.expect_end()
    plan.define(changed)
    table = f"ALTER TABLE {plan.dialect.quote_name(queue.name)}"
    plan.statements.extend(f"{table} {action}" for action in actions)
    plan.statements.append(plan.dialect.carry(changed))


_STATEMENTS: Final[tuple[tuple[tuple[str, ...], Callable[[Reader, Plan], None]], ...]] = (
    (("CREATE", "QUEUE"), _create),
    (("DROP", "QUEUE"), _drop),
    (("ALTER", "QUEUE"), _alter),
)


def _refuse_table_ddl(reader: Reader, plan: Plan) -> None:
    if not (reader.words("ALTER", "TABLE") or reader.words("DROP", "TABLE")):
        return
    reader.words("IF", "EXISTS")
    path = reader.path()
    if len(path) == 1 and path[0].lower() in plan.schema.queues:
        raise SqlError(f"{path[0]} is a queue: use ALTER QUEUE or DROP QUEUE")


def _carried(statement: str, dialect: Dialect) -> QueueDefinition | Access | None:
    """Read what a statement of the upstream schema carries for the gateway; None for a user's own."""
    if MARK not in statement:
        return None
    try:
        reader = Reader(statement, dialect.tokenize(statement))
        created = _created(reader)
        strings = [token.content for token in reader.tokens if token.kind is Kind.STRING]
        texts = [text for text in strings if text.startswith(MARK)]
        # A text of the user's own may come before the deliver time, which is the last of the columns.
        text = texts[-1].removeprefix(MARK) if texts else ""
        if created == VIEWS[dialect.name].lower():
            return Access.restore(text)
        queue = dialect.parse_create_queue(Reader(text, dialect.tokenize(text)))
    except (TokenError, SqlError):
        # A text of the user's own, which only begins like the gateway's.
        return None
    return queue if queue.name.lower() == created else None


def _created(reader: Reader) -> str:
    reader.expect_words("CREATE")
    reader.words("OR", "REPLACE")
    if not reader.words("VIEW"):
        reader.expect_words("TABLE")
    return reader.path()[-1].lower()


def restore(statements: Iterable[str], dialect: Dialect) -> tuple[list[str], Schema]:
    """Turn an upstream schema back: its statements as the client knows them, and what the gateway keeps."""
    shown: list[str] = []
    schema = Schema()
    for statement in statements:
        carried = _carried(statement, dialect)
        if isinstance(carried, QueueDefinition):
            schema.queues[carried.name.lower()] = carried
            shown.append(dialect.create_queue(carried))
        elif carried is None:
            shown.append(statement)
        else:
            schema.access = carried
    return [*shown, *schema.access.statements(dialect)], schema
