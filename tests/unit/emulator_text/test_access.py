"""Roles and grants: checked, kept, written as the schema shows them, and carried upstream."""

from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator.text.access import Access, Grant, is_about_access
from sqlalchemy_spanner_queues.emulator.text.ddl import Schema, restore, translate
from sqlalchemy_spanner_queues.emulator.text.dialect import Dialect
from sqlalchemy_spanner_queues.emulator.text.reading import Reader, SqlError
from tests.unit.emulator_text.queues import BOTH, GOOGLESQL, POSTGRESQL, named, queues


def kept(dialect: Dialect, *statements: str) -> list[str]:
    """Apply statements, and return those that make all that is kept."""
    access = Access()
    for sql in statements:
        access.apply(Reader(sql, dialect.tokenize(sql)), dialect, queues(dialect, "q", "UserTasks"))
    return access.statements(dialect)


@pytest.mark.parametrize(
    ("grant", "written"),
    [
        ("GRANT INSERT ON QUEUE q TO ROLE r", ["GRANT INSERT ON QUEUE q TO ROLE r"]),
        (
            "grant insert, Delete on queue `q` to role R, s;",
            [
                "GRANT INSERT ON QUEUE `q` TO ROLE r",
                "GRANT DELETE ON QUEUE `q` TO ROLE r",
                "GRANT INSERT ON QUEUE `q` TO ROLE s",
                "GRANT DELETE ON QUEUE `q` TO ROLE s",
            ],
        ),
        (
            "GRANT EXECUTE ON TABLE FUNCTION RECEIVE_q, renewlease_q TO ROLE r -- both",
            [
                "GRANT EXECUTE ON TABLE FUNCTION RECEIVE_q TO ROLE r",
                "GRANT EXECUTE ON TABLE FUNCTION renewlease_q TO ROLE r",
            ],
        ),
        (
            "GRANT select (a, /* and */ b), INSERT ON TABLE t TO ROLE r",
            ["GRANT SELECT (a, b) ON TABLE t TO ROLE r", "GRANT INSERT ON TABLE t TO ROLE r"],
        ),
        ("GRANT SELECT ON CHANGE STREAM c TO ROLE r", ["GRANT SELECT ON CHANGE STREAM c TO ROLE r"]),
        ("GRANT ROLE s TO ROLE r", ["GRANT ROLE s TO ROLE r"]),
        ("GRANT SELECT ON TABLE queue TO ROLE public", ["GRANT SELECT ON TABLE queue TO ROLE public"]),
        ("GRANT EXECUTE ON TABLE FUNCTION my_receive_it TO ROLE r",
         ["GRANT EXECUTE ON TABLE FUNCTION my_receive_it TO ROLE r"]),
    ],
)  # fmt: skip
def test_grants_in_googlesql(grant: str, written: list[str]) -> None:
    roles = ["CREATE ROLE r", "CREATE ROLE s"]
    assert kept(GOOGLESQL, *roles, grant) == [*roles, *written]


@pytest.mark.parametrize(
    ("grant", "written"),
    [
        ("GRANT INSERT ON QUEUE q TO r", ["GRANT INSERT ON QUEUE q TO r"]),
        ('GRANT DELETE ON QUEUE "UserTasks" TO r, S', ['GRANT DELETE ON QUEUE "UserTasks" TO r',
                                                        'GRANT DELETE ON QUEUE "UserTasks" TO s']),
        ("GRANT EXECUTE ON FUNCTION spanner.receive_q TO r",
         ["GRANT EXECUTE ON FUNCTION spanner.receive_q TO r"]),
        ('GRANT EXECUTE ON FUNCTION spanner."renewlease_UserTasks" TO r',
         ['GRANT EXECUTE ON FUNCTION spanner."renewlease_UserTasks" TO r']),
        ("GRANT SELECT ON t TO r", ["GRANT SELECT ON TABLE t TO r"]),
        ("GRANT SELECT ON ALL TABLES IN SCHEMA public TO r",
         ["GRANT SELECT ON ALL TABLES IN SCHEMA public TO r"]),
        ("GRANT USAGE ON SCHEMA public TO r", ["GRANT USAGE ON SCHEMA public TO r"]),
        ("GRANT s TO r", ["GRANT s TO r"]),
    ],
)  # fmt: skip
def test_grants_in_postgresql(grant: str, written: list[str]) -> None:
    roles = ["CREATE ROLE r", "CREATE ROLE s"]
    assert kept(POSTGRESQL, *roles, grant) == [*roles, *written]


def test_revoking_takes_back_what_was_granted_in_any_letter_case() -> None:
    statements = kept(
        GOOGLESQL,
        "CREATE ROLE r",
        "GRANT INSERT, DELETE ON QUEUE q TO ROLE r",
        "GRANT INSERT ON QUEUE Q TO ROLE r",
        "GRANT EXECUTE ON TABLE FUNCTION RECEIVE_q TO ROLE r",
        "REVOKE insert ON QUEUE `Q` FROM ROLE R",
        "REVOKE SELECT ON QUEUE q FROM ROLE r",
        "REVOKE EXECUTE ON TABLE FUNCTION receive_Q FROM ROLE r",
    )
    assert statements == ["CREATE ROLE r", "GRANT DELETE ON QUEUE q TO ROLE r"]
    assert kept(
        POSTGRESQL,
        'CREATE ROLE "Sender"',
        "GRANT INSERT ON QUEUE q TO sender",
        'REVOKE INSERT ON QUEUE "q" FROM "Sender"',
    ) == ['CREATE ROLE "Sender"']


def test_roles_are_made_and_dropped() -> None:
    assert kept(GOOGLESQL, "create role IF NOT EXISTS `my role`", "CREATE ROLE IF NOT EXISTS `My Role`") == [
        "CREATE ROLE `my role`"
    ]
    assert kept(GOOGLESQL, "CREATE ROLE r", "DROP ROLE R;", "DROP ROLE IF EXISTS r") == []
    # A table may be called like the role.
    assert kept(
        GOOGLESQL,
        "CREATE ROLE r",
        "CREATE ROLE s",
        "GRANT SELECT ON TABLE r TO ROLE s",
        "DROP ROLE r",
    ) == ["CREATE ROLE s", "GRANT SELECT ON TABLE r TO ROLE s"]


@pytest.mark.parametrize(
    ("statement", "problem", "text"),
    [
        ("CREATE ROLE R", "in use", "Duplicate name in schema: R"),
        ("CREATE ROLE public", "in use", "Duplicate name"),
        ("CREATE ROLE a b", "invalid", "expected end of statement"),
        ("CREATE ROLE", "invalid", "end of statement"),
        ("DROP ROLE nobody", "not found", "Role not found: nobody"),
        ("DROP ROLE public", "invalid", "system role"),
        ("DROP ROLE IF EXISTS spanner_info_reader", "invalid", "system role"),
        ("DROP ROLE r", "in use", "revoke its privileges first"),
        ("GRANT INSERT ON QUEUE nothing TO ROLE r", "not found", "Queue not found: nothing"),
        ("GRANT INSERT ON QUEUE q TO ROLE nobody", "not found", "Role not found: nobody"),
        ("GRANT EXECUTE ON TABLE FUNCTION RECEIVE_nothing TO ROLE r", "not found", "Function not found"),
        ("REVOKE INSERT ON QUEUE nothing FROM ROLE r", "not found", "Queue not found"),
        ("GRANT INSERT ON QUEUE q", "invalid", "expected TO or FROM but got end of statement"),
        ("GRANT INSERT ON QUEUE q TO ROLE", "invalid", "end of statement|expected privileges"),
        ("GRANT INSERT ON QUEUE q TO ROLE r WITH GRANT OPTION", "invalid", "expected privileges"),
        ("GRANT ON QUEUE q TO ROLE r", "invalid", "expected privileges"),
        ("GRANT INSERT ON TO ROLE r", "invalid", "expected privileges"),
        ("GRANT", "invalid", "end of statement"),
    ],
)
def test_what_breaks_a_rule(statement: str, problem: str, text: str) -> None:
    before = ["CREATE ROLE r", "GRANT INSERT ON QUEUE q TO ROLE r"]
    with pytest.raises(SqlError, match=text) as refused:
        kept(GOOGLESQL, *before, statement)
    assert refused.value.problem == problem


@pytest.mark.parametrize(
    ("sql", "about"),
    [
        ("GRANT INSERT ON QUEUE q TO ROLE r", True),
        ("revoke x", True),
        ("CREATE ROLE r", True),
        ("DROP ROLE r", True),
        ("GRANT", False),
        ("CREATE TABLE ROLE (a INT64) PRIMARY KEY (a)", False),
        ("", False),
    ],
)
def test_which_statements_are_about_access(sql: str, about: bool) -> None:
    assert is_about_access(Reader(sql, GOOGLESQL.tokenize(sql))) is about


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_a_dropped_queue_takes_its_grants_along(dialect: Dialect) -> None:
    names = [dialect.quote_if_needed(name) for name in ("UserTasks", "q")]
    receive = [dialect.function_name("RECEIVE", name) for name in ("UserTasks", "q")]
    kind, to = ("TABLE FUNCTION", "ROLE r") if dialect is GOOGLESQL else ("FUNCTION", "r")
    plan = translate(
        [
            "CREATE ROLE r",
            *(f"GRANT INSERT ON QUEUE {name} TO {to}" for name in names),
            *(f"GRANT EXECUTE ON {kind} {name} TO {to}" for name in receive),
            f"DROP QUEUE {names[0]}",
        ],
        Schema(queues(dialect, "q", "UserTasks")),
        dialect,
    )
    assert [grant.object for grant in plan.schema.access.grants] == ["q", receive[1]]


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_all_is_carried_upstream_and_restored(dialect: Dialect) -> None:
    access = Access(
        ["r", "it's a \\ 'role'", "Größe"],
        [Grant("INSERT", "QUEUE", "q", "r"), Grant("ROLE", "", "x", 'say "r"')],
    )
    plan = translate(["CREATE ROLE last"], Schema(access=access), dialect)
    (view,) = plan.statements
    assert view.startswith("CREATE OR REPLACE VIEW ")
    shown, schema = restore(["CREATE TABLE t", view.replace("OR REPLACE ", "")], dialect)
    assert schema.access == Access([*access.roles, "last"], access.grants)
    assert shown == ["CREATE TABLE t", *schema.access.statements(dialect)]


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_nothing_goes_upstream_when_nothing_changes(dialect: Dialect) -> None:
    plan = translate(["CREATE ROLE IF NOT EXISTS r"], Schema(access=Access(["r"])), dialect)
    assert (plan.statements, plan.changed) == ([], True)
