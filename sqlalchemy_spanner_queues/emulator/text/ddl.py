"""Translate DDL: statements about queues into the tables that stand for them, and schemas back.

::

    plan = translate(["CREATE TABLE ...", "CREATE QUEUE ...", "GRANT ..."], queues)
    plan.statements     # what goes upstream, in order
    plan.queues         # the queues that exist afterwards

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from .create_queue import (
    parse_create_queue,
    queue_name,
    read_bracketed,
    read_interleave,
    read_on_delete,
    read_options,
)
from .definition import MESSAGE_ID, QueueDefinition
from .reading import Reader, SqlError
from .tokens import Kind, TokenError, quote_name

Queues = Mapping[str, QueueDefinition]


@dataclass(slots=True)
class Plan:
    """What a list of statements comes to: texts for upstream, and the queues afterwards."""

    queues: dict[str, QueueDefinition]
    statements: list[str] = field(default_factory=lambda: list[str]())
    changed: bool = False

    def define(self, queue: QueueDefinition) -> None:
        """Note that a queue exists with this definition."""
        self.queues[queue.name.lower()] = queue

    def existing(self, reader: Reader) -> QueueDefinition:
        """Take a name that has to be a queue's."""
        name = queue_name(reader)
        queue = self.queues.get(name.lower())
        if queue is None:
            raise SqlError(f"Queue not found: {name}")
        return queue


def translate(statements: Iterable[str], queues: Queues) -> Plan:
    """Translate DDL statements in their order.

    Raises SqlError, before anything was sent, when a statement about a queue breaks a rule.
    """
    plan = Plan(dict(queues))
    for sql in statements:
        _translate_one(sql, plan)
    return plan


def _translate_one(sql: str, plan: Plan) -> None:
    try:
        reader = Reader(sql)
    except TokenError:
        plan.statements.append(sql)
        return
    for words, handle in _STATEMENTS:
        if reader.words(*words):
            plan.changed = True
            handle(reader, plan)
            return
    if not _about_roles(reader):
        _refuse_table_ddl(reader, plan)
        plan.statements.append(sql)
        return
    plan.changed = True


def _create(reader: Reader, plan: Plan) -> None:
    queue = parse_create_queue(reader.sql)
    guarded = reader.words("IF", "NOT", "EXISTS")
    plan.statements.append(queue.create_table(if_not_exists=guarded))
    if not (guarded and queue.name.lower() in plan.queues):
        plan.define(queue)


def _drop(reader: Reader, plan: Plan) -> None:
    guarded = reader.words("IF", "EXISTS")
    name = queue_name(reader)
    if plan.queues.pop(name.lower(), None) is None and not guarded:
        raise SqlError(f"Queue not found: {name}")
    _expect_end(reader)
    plan.statements.append(f"DROP TABLE {'IF EXISTS ' if guarded else ''}{quote_name(name)}")


def _alter(reader: Reader, plan: Plan) -> None:
    queue = plan.existing(reader)
    for words, change in _CHANGES:
        if reader.words(*words):
            changed, upstream = change(reader, queue)
            _expect_end(reader)
            plan.define(changed)
            table = f"ALTER TABLE {quote_name(queue.name)}"
            plan.statements.extend(f"{table} {action}" for action in upstream)
            plan.statements.append(f"{table} ALTER COLUMN {MESSAGE_ID} SET DEFAULT ({changed.identity()})")
            return
    raise SqlError(f"Syntax error in ALTER QUEUE {queue.name}: unexpected {reader.here()}")


Change = tuple[QueueDefinition, list[str]]


def _set_options(reader: Reader, queue: QueueDefinition) -> Change:
    options = read_options(reader, queue.name)
    if "receive_mode" in options:
        raise SqlError(f"Option receive_mode of queue {queue.name} cannot be altered")
    merged = {**queue.options, **options}
    kept = {name: value for name, value in merged.items() if value.lower() != "null"}
    return replace(queue, options=kept), []


def _set_on_delete(reader: Reader, queue: QueueDefinition) -> Change:
    action = read_on_delete(reader)
    return replace(queue, on_delete=action), [f"SET ON DELETE {action}"]


def _set_interleave(reader: Reader, queue: QueueDefinition) -> Change:
    interleave, on_delete = read_interleave(reader)
    action = f" ON DELETE {on_delete}" if on_delete else ""
    return replace(queue, interleave=interleave, on_delete=on_delete), [
        f"SET INTERLEAVE {interleave}{action}"
    ]


def _add_row_deletion(reader: Reader, queue: QueueDefinition) -> Change:
    policy = read_bracketed(reader)
    return replace(queue, row_deletion=policy), [f"ADD ROW DELETION POLICY {policy}"]


def _replace_row_deletion(reader: Reader, queue: QueueDefinition) -> Change:
    policy = read_bracketed(reader)
    return replace(queue, row_deletion=policy), [f"REPLACE ROW DELETION POLICY {policy}"]


def _drop_row_deletion(_: Reader, queue: QueueDefinition) -> Change:
    return replace(queue, row_deletion=""), ["DROP ROW DELETION POLICY"]


_STATEMENTS: tuple[tuple[tuple[str, ...], Callable[[Reader, Plan], None]], ...] = (
    (("CREATE", "QUEUE"), _create),
    (("DROP", "QUEUE"), _drop),
    (("ALTER", "QUEUE"), _alter),
)
_CHANGES: tuple[tuple[tuple[str, ...], Callable[[Reader, QueueDefinition], Change]], ...] = (
    (("SET", "OPTIONS"), _set_options),
    (("SET", "ON", "DELETE"), _set_on_delete),
    (("SET", "INTERLEAVE"), _set_interleave),
    (("ADD", "ROW", "DELETION", "POLICY"), _add_row_deletion),
    (("REPLACE", "ROW", "DELETION", "POLICY"), _replace_row_deletion),
    (("DROP", "ROW", "DELETION", "POLICY"), _drop_row_deletion),
)


def _expect_end(reader: Reader) -> None:
    if not reader.done:
        raise SqlError(f"Syntax error: expected end of statement but got {reader.here()}")


def _about_roles(reader: Reader) -> bool:
    # The official emulator has no roles: statements about them are accepted here and grant nothing.
    if reader.words("CREATE", "ROLE") or reader.words("DROP", "ROLE"):
        return True
    if not (reader.words("GRANT") or reader.words("REVOKE")):
        return False
    rest = reader.tokens[reader.position :]
    return any(
        token.is_word("QUEUE") or (token.is_word("TABLE") and after.is_word("FUNCTION"))
        for token, after in pairwise(rest)
    )


def _refuse_table_ddl(reader: Reader, plan: Plan) -> None:
    if not (reader.words("ALTER", "TABLE") or reader.words("DROP", "TABLE")):
        return
    reader.words("IF", "EXISTS")
    path = reader.path()
    if len(path) == 1 and path[0].lower() in plan.queues:
        raise SqlError(f"{path[0]} is a queue: use ALTER QUEUE or DROP QUEUE")


def queue_of(statement: str) -> QueueDefinition | None:
    """Find the queue that a CREATE TABLE statement of the upstream schema stands for, if it is one."""
    if MESSAGE_ID not in statement:
        return None
    tokens = Reader(statement).tokens
    for index, token in enumerate(tokens):
        if token.is_name and token.name == MESSAGE_ID:
            text = next((later for later in tokens[index:] if later.kind is Kind.STRING), None)
            return parse_create_queue(text.value()) if text else None
    return None


def restore(statements: Iterable[str]) -> tuple[list[str], dict[str, QueueDefinition]]:
    """Turn an upstream schema back: its statements with queues as CREATE QUEUE, and the queues by name."""
    shown: list[str] = []
    queues: dict[str, QueueDefinition] = {}
    for statement in statements:
        queue = queue_of(statement)
        if queue is not None:
            queues[queue.name.lower()] = queue
        shown.append(statement if queue is None else queue.create_queue())
    return shown, queues
