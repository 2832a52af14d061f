"""DDL elements for queues: CREATE, DROP and ALTER QUEUE, GRANT and REVOKE.

``metadata.create_all()`` uses CreateQueue and DropQueue by itself; the others are executed like any DDL::

    connection.execute(AlterQueue(UserTask, options={"disable_send": True}))
    connection.execute(GrantQueue(UserTask, "worker", "receive", "acknowledge"))

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import Table, inspect
from sqlalchemy.engine import Connection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateTable, DropTable, ExecutableDDLElement
from sqlalchemy.sql.compiler import DDLCompiler

from . import _rules
from .definition import Interleave, OptionValue, RowDeletion, as_table, definition_of
from .dialects import Privilege, for_dialect
from .dialects.base import Alteration


class CreateQueue(CreateTable):
    """Emit CREATE QUEUE for a queue (in SQLite: its table, index and triggers).

    Example: ``connection.execute(CreateQueue(UserTask.__table__, if_not_exists=True))``.
    Raises UnsupportedDialect on other databases.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """

    def __init__(self, element: Any, if_not_exists: bool = False) -> None:
        super().__init__(queue_of(element), if_not_exists=if_not_exists)

    def _execute_on_connection(
        self, connection: Connection, distilled_params: Any, execution_options: Any
    ) -> Any:
        execute: Any = super()._execute_on_connection
        result = execute(connection, distilled_params, execution_options)
        for_dialect(connection.dialect, "CREATE QUEUE").after_create(definition_of(self.element), connection)
        return result


class DropQueue(DropTable):
    """Emit DROP QUEUE for a queue.

    Example: ``connection.execute(DropQueue(UserTask.__table__, if_exists=True))``. Grants are lost, and
    creating a queue of the same name again is not fully supported by Spanner.

    https://docs.cloud.google.com/spanner/docs/queues/queues-overview
    """

    def __init__(self, element: Any, if_exists: bool = False) -> None:
        super().__init__(queue_of(element), if_exists=if_exists)

    def _execute_on_connection(
        self, connection: Connection, distilled_params: Any, execution_options: Any
    ) -> Any:
        execute: Any = super()._execute_on_connection
        result = execute(connection, distilled_params, execution_options)
        for_dialect(connection.dialect, "DROP QUEUE").after_drop(definition_of(self.element), connection)
        return result


class AlterQueue(ExecutableDDLElement):
    """Emit ALTER QUEUE with one change.

    Give exactly one of ``options`` (a dict), ``on_delete`` ("CASCADE" or "NO ACTION"), ``interleave_in``
    (a table's name), ``add_row_deletion`` / ``replace_row_deletion`` (a pair of column name and timedelta of
    whole days), ``drop_row_deletion=True``. PostgreSQL-dialect databases take ``options`` only. ::

        AlterQueue(UserTask, replace_row_deletion=("CreatedAt", timedelta(days=30)))

    Raises ValueError unless exactly one change is given; QueueDefinitionError where it breaks a rule;
    UnsupportedDialect where a dialect cannot do it.

    https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
    """

    def __init__(
        self,
        element: Any,
        *,
        options: dict[str, OptionValue] | None = None,
        on_delete: str | None = None,
        interleave_in: str | None = None,
        in_parent: bool = True,
        add_row_deletion: tuple[str, timedelta] | None = None,
        replace_row_deletion: tuple[str, timedelta] | None = None,
        drop_row_deletion: bool = False,
    ) -> None:
        changes = [options, interleave_in, add_row_deletion, replace_row_deletion, drop_row_deletion or None]
        if interleave_in is None:
            changes.append(on_delete)
        if sum(change is not None for change in changes) != 1:
            raise ValueError("AlterQueue takes exactly one change; execute one element for each")
        if options == {}:
            raise ValueError("AlterQueue(options={}) changes nothing; name an option")
        self.definition = definition_of(queue_of(element))
        self.change = Alteration(
            options=options,
            on_delete=on_delete,
            interleave=Interleave(interleave_in, in_parent, on_delete) if interleave_in else None,
            add_row_deletion=RowDeletion(*add_row_deletion) if add_row_deletion else None,
            replace_row_deletion=RowDeletion(*replace_row_deletion) if replace_row_deletion else None,
            drop_row_deletion=drop_row_deletion,
        )
        _rules.check_change(self.definition, self.change)


class GrantQueue(ExecutableDDLElement):
    """Emit GRANT for a queue and a database role.

    Privileges: ``"send"`` (INSERT), ``"acknowledge"`` (DELETE), ``"inspect"`` (SELECT) and ``"receive"``
    (EXECUTE on the functions that receive and renew). ::

        GrantQueue(UserTask, "producer", "send")
        GrantQueue(UserTask, "consumer", "receive", "acknowledge")

    Raises ValueError without a privilege, or with an unknown one.

    https://docs.cloud.google.com/spanner/docs/fgac-queues
    """

    revoke = False

    def __init__(self, element: Any, role: str, *privileges: Privilege) -> None:
        known = ("send", "acknowledge", "inspect", "receive")
        unknown = [privilege for privilege in privileges if privilege not in known]
        if unknown or not privileges:
            raise ValueError(f"name privileges among {', '.join(known)}, not {unknown or 'none'}")
        self.definition = definition_of(queue_of(element))
        self.role = role
        self.privileges = privileges


class RevokeQueue(GrantQueue):
    """Emit REVOKE for a queue and a database role; takes what GrantQueue takes.

    Example: ``connection.execute(RevokeQueue(UserTask, "producer", "send"))``.

    https://docs.cloud.google.com/spanner/docs/fgac-queues
    """

    revoke = True


def queue_of(target: Any) -> Table[Any]:
    """Return the queue behind a mapped class, its mapper, or the queue itself."""
    found = as_table(target)
    if found is None:
        found = as_table(getattr(inspect(target, raiseerr=False), "local_table", None))
    if found is None:
        raise TypeError(f"{target!r} is neither a queue nor a class mapped to one")
    return found


@compiles(CreateQueue)
def _create(element: CreateQueue, compiler: DDLCompiler, **_kw: Any) -> str:
    seam = for_dialect(compiler.dialect, "CREATE QUEUE")
    return seam.create_queue(definition_of(element.element), compiler, element.if_not_exists)


@compiles(DropQueue)
def _drop(element: DropQueue, compiler: DDLCompiler, **_kw: Any) -> str:
    seam = for_dialect(compiler.dialect, "DROP QUEUE")
    return seam.drop_queue(definition_of(element.element), compiler.preparer, element.if_exists)


@compiles(AlterQueue)
def _alter(element: AlterQueue, compiler: DDLCompiler, **_kw: Any) -> str:
    seam = for_dialect(compiler.dialect, "ALTER QUEUE")
    return seam.alter_queue(element.definition, compiler.preparer, element.change)


@compiles(GrantQueue)
def _grant(element: GrantQueue, compiler: DDLCompiler, **_kw: Any) -> str:
    seam = for_dialect(compiler.dialect, "GRANT")
    return seam.grant(element.definition, compiler.preparer, element.role, element.privileges, element.revoke)


@compiles(RevokeQueue)
def _revoke(element: RevokeQueue, compiler: DDLCompiler, **kw: Any) -> str:
    return _grant(element, compiler, **kw)
