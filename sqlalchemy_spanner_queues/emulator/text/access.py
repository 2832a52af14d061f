"""Roles and what is granted to them, which the official emulator does not know: accepted, checked, and kept.

Nothing is enforced: every session may do everything. ::

    access.apply(reader, dialect, queues)     # "GRANT INSERT ON QUEUE q TO ROLE sender"
    access.statements(dialect)                # as GetDatabaseDdl shows them

https://docs.cloud.google.com/spanner/docs/fgac-queues
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from .definition import QueueDefinition
from .dialect import FUNCTIONS, MARK, Dialect, DialectName
from .reading import Reader, SqlError, split
from .tokens import Token

VIEWS: Final[Mapping[DialectName, str]] = {
    "googlesql": "SpannerQueuesAccess",
    "postgresql": "spanner_queues_access",
}
"""The view that carries roles and grants upstream; clients never see it."""

_SYSTEM_ROLES: Final = ("public", "spanner_info_reader", "spanner_sys_reader")


@dataclass(frozen=True, slots=True)
class Grant:
    """A privilege on an object (``kind`` such as QUEUE or TABLE FUNCTION) for a role."""

    privilege: str
    kind: str
    object: str
    role: str

    def matches(self, other: Grant) -> bool:
        """Tell whether another one says the same, in any letter case."""
        same = (self.privilege, self.kind, self.role) == (other.privilege, other.kind, other.role)
        return same and _plain(self.object) == _plain(other.object)

    def write(self, dialect: Dialect, verb: str = "GRANT") -> str:
        """Write the statement."""
        to = "TO" if verb == "GRANT" else "FROM"
        role = f"{'ROLE ' if dialect.name == 'googlesql' else ''}{dialect.quote_if_needed(self.role)}"
        target = f" ON {self.kind} {self.object}" if self.kind else f" {self.object}"
        return f"{verb} {self.privilege}{target} {to} {role}".replace("  ", " ")


@dataclass(slots=True)
class Access:
    """The roles of a database, and what was granted to them."""

    roles: list[str] = field(default_factory=lambda: list[str]())
    grants: list[Grant] = field(default_factory=lambda: list[Grant]())

    def copy(self) -> Access:
        """Return another one that says the same."""
        return Access(list(self.roles), list(self.grants))

    def apply(self, reader: Reader, dialect: Dialect, queues: Mapping[str, QueueDefinition]) -> None:
        """Carry out a statement about roles or grants.

        Raises SqlError when it names a role or queue that there is not, or breaks a rule.
        """
        if reader.words("CREATE", "ROLE"):
            self._create_role(reader)
        elif reader.words("DROP", "ROLE"):
            self._drop_role(reader)
        elif reader.words("GRANT"):
            self._change(reader, dialect, queues, self._grant)
        else:
            reader.expect_words("REVOKE")
            self._change(reader, dialect, queues, self._revoke)

    def forget(self, queue: QueueDefinition, dialect: Dialect) -> None:
        """Drop the grants on a queue and its functions."""
        names = {queue.name.lower(), *(_function(dialect, function, queue) for function in FUNCTIONS)}
        self.grants = [grant for grant in self.grants if _plain(grant.object) not in names]

    def statements(self, dialect: Dialect) -> list[str]:
        """Write the statements that make all this."""
        roles = [f"CREATE ROLE {dialect.quote_if_needed(role)}" for role in self.roles]
        return [*roles, *(grant.write(dialect) for grant in self.grants)]

    def carry(self, dialect: Dialect) -> str:
        """Write the statement that keeps all this in the upstream schema."""
        grants = [[grant.privilege, grant.kind, grant.object, grant.role] for grant in self.grants]
        text = dialect.quote_string(MARK + json.dumps({"roles": self.roles, "grants": grants}))
        return (
            f"CREATE OR REPLACE VIEW {VIEWS[dialect.name]} SQL SECURITY INVOKER AS SELECT {text} AS content"
        )

    @staticmethod
    def restore(text: str) -> Access:
        """Read what ``carry`` wrote."""
        carried = json.loads(text)
        return Access(list(carried["roles"]), [Grant(*grant) for grant in carried["grants"]])

    def _create_role(self, reader: Reader) -> None:
        guarded = reader.words("IF", "NOT", "EXISTS")
        name = reader.next().name
        reader.expect_end()
        if self._role(name) is None:
            self.roles.append(name)
        elif not guarded:
            raise SqlError(f"Duplicate name in schema: {name}.", "in use")

    def _drop_role(self, reader: Reader) -> None:
        guarded = reader.words("IF", "EXISTS")
        name = reader.next().name
        reader.expect_end()
        role = self._role(name)
        if role is None:
            if guarded:
                return
            raise SqlError(f"Role not found: {name}", "not found")
        if role not in self.roles:
            raise SqlError(f"Cannot drop role {role}: it is a system role")
        if any(grant.role == role or (not grant.kind and grant.object == role) for grant in self.grants):
            raise SqlError(f"Cannot drop role {role}: revoke its privileges first", "in use")
        self.roles.remove(role)

    def _role(self, name: str) -> str | None:
        known = (*self.roles, *_SYSTEM_ROLES)
        return next((role for role in known if role.lower() == name.lower()), None)

    def _change(
        self,
        reader: Reader,
        dialect: Dialect,
        queues: Mapping[str, QueueDefinition],
        change: Callable[[Grant], None],
    ) -> None:
        kind, privileges, objects, roles = _parts(reader)
        known = [self._existing(token) for token in roles]
        for name in objects:
            _check_object(kind, name, dialect, queues)
        for role in known:
            for name in objects:
                for privilege in privileges:
                    change(Grant(privilege, kind, name, role))

    def _existing(self, token: Token) -> str:
        role = self._role(token.name)
        if role is None:
            raise SqlError(f"Role not found: {token.name}", "not found")
        return role

    def _grant(self, grant: Grant) -> None:
        if not any(other.matches(grant) for other in self.grants):
            self.grants.append(grant)

    def _revoke(self, grant: Grant) -> None:
        self.grants = [other for other in self.grants if not other.matches(grant)]


def is_about_access(reader: Reader) -> bool:
    """Tell whether a statement is about roles or grants, without going into it."""
    first, second = reader.peek(), reader.peek(1)
    if first is None or second is None:
        return False
    return first.is_word("GRANT", "REVOKE") or (first.is_word("CREATE", "DROP") and second.is_word("ROLE"))


def _parts(reader: Reader) -> tuple[str, list[str], list[str], list[Token]]:
    """Read ``privileges ON kind objects TO roles``: the kind, and the lists."""
    head = _until(reader, "ON", "TO", "FROM")
    kind = ""
    if reader.words("ON"):
        target = _until(reader, "TO", "FROM")
        kind, objects = _kind(target)
        # PostgreSQL leaves the word TABLE out.
        kind = kind or "TABLE"
        privileges = [_privilege(reader.text_of(part)) for part in split(head)]
    else:
        # One role for another: GRANT ROLE a TO ROLE b.
        is_named = bool(head) and head[0].is_word("ROLE")
        privileges, objects = ["ROLE"] if is_named else [""], head[1:] if is_named else head
    reader.next()
    reader.words("ROLE")
    roles = split(reader.tokens[reader.position :])
    names = [reader.text_of(part) for part in split(objects) if part]
    if not (privileges and names and roles) or any(len(role) != 1 for role in roles):
        raise SqlError("Syntax error: expected privileges ON an object TO or FROM a role")
    return kind, privileges, names, [role[0] for role in roles]


def _privilege(text: str) -> str:
    """Write a privilege in upper case, but not the columns that it is for."""
    word, bracket, columns = text.partition("(")
    return word.upper() + bracket + columns


def _until(reader: Reader, *words: str) -> list[Token]:
    start = reader.position
    while (token := reader.peek()) is not None and not token.is_word(*words):
        reader.next()
    if reader.done:
        raise SqlError(f"Syntax error: expected {' or '.join(words)} but got end of statement")
    return reader.tokens[start : reader.position]


def _kind(target: Sequence[Token]) -> tuple[str, list[Token]]:
    """Cut ``TABLE FUNCTION a, b`` into the kind and the objects."""
    words = ("TABLE", "VIEW", "QUEUE", "FUNCTION", "CHANGE", "STREAM", "SEQUENCE", "MODEL", "SCHEMA", "ALL")
    several = (*words, "TABLES", "VIEWS", "FUNCTIONS", "IN")
    length = next((index for index, token in enumerate(target) if not token.is_word(*several)), len(target))
    # The last word is the object itself when it is all that there is.
    length = min(length, len(target) - 1)
    return " ".join(token.text.upper() for token in target[:length]), list(target[length:])


def _check_object(kind: str, name: str, dialect: Dialect, queues: Mapping[str, QueueDefinition]) -> None:
    plain = _plain(name)
    if kind == "QUEUE" and plain not in queues:
        raise SqlError(f"Queue not found: {name}", "not found")
    if kind not in ("TABLE FUNCTION", "FUNCTION"):
        return
    functions = {_function(dialect, function, queue) for function in FUNCTIONS for queue in queues.values()}
    is_ours = plain.rsplit(".", 1)[-1].startswith(("receive_", "renewlease_"))
    if is_ours and plain not in functions:
        raise SqlError(f"Function not found: {name}", "not found")


def _function(dialect: Dialect, function: str, queue: QueueDefinition) -> str:
    name = f"{function}_{queue.name}".lower()
    return name if dialect.name == "googlesql" else f"spanner.{name}"


def _plain(name: str) -> str:
    return name.replace('"', "").replace("`", "").lower()
