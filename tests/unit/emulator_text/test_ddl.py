"""DDL is translated into what upstream understands, and an upstream schema is turned back."""

from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator.text.ddl import Plan, Schema, restore, translate
from sqlalchemy_spanner_queues.emulator.text.dialect import MARK, Dialect
from sqlalchemy_spanner_queues.emulator.text.reading import SqlError
from tests.unit.emulator_text.queues import (
    BOTH,
    CREATE,
    GOOGLESQL,
    POSTGRESQL,
    named,
    parse,
    queue_named,
    queues,
)


def plan_of(dialect: Dialect, *statements: str, schema: Schema | None = None) -> Plan:
    return translate(statements, schema or Schema(queues(dialect)), dialect)


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_a_queue_becomes_a_table_and_comes_back(dialect: Dialect) -> None:
    plan = plan_of(dialect, CREATE[dialect.name], schema=Schema())
    (table,) = plan.statements
    assert table.startswith(f"CREATE TABLE {dialect.quote_name('q')} (\n  ")
    assert (plan.changed, plan.dropped) == (True, set())
    shown, schema = restore(plan.statements, dialect)
    assert shown == [dialect.create_queue(parse(CREATE[dialect.name], dialect))]
    assert schema.queues == plan.schema.queues == queues(dialect)


def test_the_deliver_time_that_upstream_has() -> None:
    (table,) = plan_of(GOOGLESQL, CREATE["googlesql"], schema=Schema()).statements
    assert "\n  DeliverTime TIMESTAMP NOT NULL DEFAULT (IF('spanner-queues:CREATE QUEUE q (" in table
    assert table.endswith("IS NULL, NULL, CURRENT_TIMESTAMP()))\n) PRIMARY KEY(Id)")
    (table,) = plan_of(POSTGRESQL, CREATE["postgresql"], schema=Schema()).statements
    assert (
        "\n  deliver_time timestamptz NOT NULL DEFAULT (CASE WHEN 'spanner-queues:CREATE QUEUE q (" in table
    )
    assert table.endswith("ELSE CURRENT_TIMESTAMP END),\n  PRIMARY KEY(id)\n)")


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        (
            GOOGLESQL,
            (
                "CREATE QUEUE `it's` (`a\\`b\\\\` STRING(36) NOT NULL OPTIONS (x = 'y\\'z'),"
                " Payload JSON NOT NULL)"
                " PRIMARY KEY (`a\\`b\\\\` DESC), OPTIONS (locality_group = 'it\\'s \"x\"\\n')"
            ),
        ),
        (
            GOOGLESQL,
            (
                "CREATE QUEUE q (Id STRING(MAX) AS ('spanner-queues:CREATE QUEUE x') STORED,"
                " Payload JSON NOT NULL)"
                ' PRIMARY KEY (Id), OPTIONS (locality_group = """a\n"b" \'\'\' c""")'
            ),
        ),
        (
            POSTGRESQL,
            (
                'CREATE QUEUE "It\'s" ("a""b" varchar(36) PRIMARY KEY, payload jsonb NOT NULL)'
                " WITH (locality_group = 'it''s \"x\" \\')"
            ),
        ),
        (
            POSTGRESQL,
            (
                "CREATE QUEUE q (id text GENERATED ALWAYS AS ('spanner-queues:CREATE QUEUE x') STORED"
                " PRIMARY KEY,"
                " payload text NOT NULL) WITH (locality_group = E'a\\n''b', receive_mode = $$PULL$$)"
            ),
        ),
    ],
)
def test_a_definition_survives_any_text_in_it(dialect: Dialect, sql: str) -> None:
    queue = parse(sql, dialect)
    # The first string of the table may be a key's: the definition is found all the same.
    table = dialect.create_table(queue, if_not_exists=False)
    assert restore([table], dialect)[1].queues == {queue.name.lower(): queue}


@pytest.mark.parametrize(
    ("dialect", "statement"),
    [
        (GOOGLESQL, f"CREATE TABLE t (a STRING(MAX) DEFAULT ('{MARK}x')) PRIMARY KEY (a)"),
        (
            GOOGLESQL,
            f"CREATE TABLE t (a STRING(MAX) DEFAULT ('{MARK}{CREATE['googlesql']}')) PRIMARY KEY (a)",
        ),
        (GOOGLESQL, f"CREATE TABLE q (a STRING(MAX) DEFAULT ('{MARK}CREATE QUEUE q (')) PRIMARY KEY (a)"),
        (GOOGLESQL, f"CREATE VIEW v SQL SECURITY INVOKER AS SELECT '{MARK}{{}}' AS content"),
        (GOOGLESQL, f"CREATE TABLE t (a INT64) PRIMARY KEY (a) -- {MARK}"),
        (GOOGLESQL, f"CREATE INDEX i ON t (a) OPTIONS (x = '{MARK}')"),
        (GOOGLESQL, f"'{MARK}"),
        (POSTGRESQL, f"CREATE TABLE t (a text DEFAULT '{MARK}x'::text, PRIMARY KEY(a))"),
        (POSTGRESQL, f"CREATE TABLE t (a text DEFAULT '{MARK}{CREATE['postgresql']}', PRIMARY KEY(a))"),
        (POSTGRESQL, f"CREATE VIEW v SQL SECURITY INVOKER AS SELECT '{MARK}'::text AS content"),
    ],
)
def test_what_only_looks_like_the_gateways_own(dialect: Dialect, statement: str) -> None:
    shown, schema = restore([statement], dialect)
    assert (shown, schema) == ([statement], Schema())


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_statements_keep_their_order(dialect: Dialect) -> None:
    plan = plan_of(
        dialect,
        "CREATE TABLE a (x INT64) PRIMARY KEY (x)",
        CREATE[dialect.name].replace(" q ", " r "),
        "CREATE INDEX i ON a (x)",
        "DROP QUEUE r;",
    )
    assert [" ".join(statement.split()[:3]) for statement in plan.statements] == [
        "CREATE TABLE a",
        f"CREATE TABLE {dialect.quote_name('r')}",
        "CREATE INDEX i",
        f"DROP TABLE {dialect.quote_name('r')}",
    ]
    assert (plan.schema.queues, plan.dropped) == (queues(dialect), {"r"})


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_a_plan_changes_no_schema_but_its_own(dialect: Dialect) -> None:
    schema = Schema(queues(dialect))
    plan_of(dialect, "DROP QUEUE q", "CREATE ROLE r", schema=schema)
    assert schema == Schema(queues(dialect))


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_a_queue_that_is_dropped_and_made_anew_counts_as_dropped(dialect: Dialect) -> None:
    plan = plan_of(dialect, "DROP QUEUE q", CREATE[dialect.name])
    assert (len(plan.statements), plan.dropped, plan.schema.queues) == (2, {"q"}, queues(dialect))


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_guarded_statements(dialect: Dialect) -> None:
    create = CREATE[dialect.name].replace("QUEUE q", "QUEUE IF NOT EXISTS Q")
    assert plan_of(dialect, create, "DROP QUEUE IF EXISTS nothing").statements == []
    (table,) = plan_of(dialect, create, schema=Schema()).statements
    assert table.startswith("CREATE TABLE IF NOT EXISTS ")
    assert plan_of(dialect, "drop queue if exists q").statements == [f"DROP TABLE {dialect.quote_name('q')}"]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (a INT64) PRIMARY KEY (a)",
        "CREATE INDEX i ON t (a)",
        "DROP TABLE t",
        "DROP TABLE IF EXISTS s.q",
        "ALTER TABLE t ADD COLUMN b STRING(MAX)",
        "CREATE QUEUES",
        "CREATE TABLE 'unfinished",
        "CREATE /* QUEUE",
        "-- CREATE QUEUE q",
        "",
        ";",
    ],
)
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_other_statements_pass_untouched(dialect: Dialect, statement: str) -> None:
    plan = plan_of(dialect, statement)
    assert (plan.statements, plan.changed) == ([statement], False)


@pytest.mark.parametrize(
    ("statement", "problem", "text"),
    [
        ("DROP QUEUE nothing", "not found", "Queue not found: nothing"),
        ("DROP QUEUE q CASCADE", "invalid", "expected end of statement but got 'CASCADE'"),
        ("DROP QUEUE", "invalid", "end of statement"),
        ("ALTER QUEUE nothing SET OPTIONS (disable_send = true)", "not found", "Queue not found: nothing"),
        ("ALTER QUEUE q ADD COLUMN a INT64", "invalid", "ALTER QUEUE q"),
        ("ALTER QUEUE q SET OPTIONS (disable_send = true) x", "invalid", "expected end of statement"),
        ("ALTER TABLE q ADD COLUMN a INT64", "invalid", "q is a queue"),
        ("DROP TABLE IF EXISTS Q", "invalid", "Q is a queue|q is a queue"),
        ("/* c */ drop table q;", "invalid", "q is a queue"),
        ("CREATE QUEUE s.r", "invalid", "named schema"),
    ],
)
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_wrong_statements_about_queues(dialect: Dialect, statement: str, problem: str, text: str) -> None:
    with pytest.raises(SqlError, match=text) as refused:
        plan_of(dialect, statement)
    assert refused.value.problem == problem


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_a_name_that_is_taken(dialect: Dialect) -> None:
    with pytest.raises(SqlError, match="Duplicate name in schema") as refused:
        plan_of(dialect, CREATE[dialect.name].replace(" q ", " Q "))
    assert refused.value.problem == "in use"


def test_alterations_change_definition_and_table() -> None:
    plan = plan_of(
        GOOGLESQL,
        "ALTER QUEUE q SET OPTIONS (disable_send = true, disable_delivery = true)",
        "ALTER QUEUE `q` SET OPTIONS (disable_delivery = NULL)",
        "ALTER QUEUE Q ADD ROW DELETION POLICY (OLDER_THAN(At, INTERVAL 1 DAY))",
    )
    queue = plan.schema.queues["q"]
    assert (dict(queue.options), queue.row_deletion) == (
        {"disable_send": "true"},
        "(OLDER_THAN(At, INTERVAL 1 DAY))",
    )
    assert plan.statements[2:] == [
        "ALTER TABLE `q` ADD ROW DELETION POLICY (OLDER_THAN(At, INTERVAL 1 DAY))",
        GOOGLESQL.carry(queue),
    ]
    # What ALTER leaves upstream is the definition that a new table would carry.
    assert GOOGLESQL.carry(queue).split("DEFAULT ", 1)[1] in GOOGLESQL.create_table(
        queue, if_not_exists=False
    )


def test_a_queue_with_a_mixed_case_name_in_postgresql() -> None:
    schema = Schema({"usertasks": queue_named("UserTasks", POSTGRESQL)})
    plan = plan_of(
        POSTGRESQL,
        'ALTER QUEUE public."UserTasks" SET OPTIONS (disable_send = true)',
        'DROP QUEUE "UserTasks"',
        schema=schema,
    )
    alter, drop = plan.statements
    assert alter.startswith('ALTER TABLE "UserTasks" ALTER COLUMN deliver_time SET DEFAULT (CASE WHEN ')
    assert (drop, plan.dropped) == ('DROP TABLE "UserTasks"', {"usertasks"})


def test_interleaving_without_enforcement_stays_in_the_gateway() -> None:
    for dialect, clause in ((GOOGLESQL, ", INTERLEAVE IN Users"), (POSTGRESQL, " INTERLEAVE IN users")):
        queue = parse(CREATE[dialect.name] + clause, dialect)
        (table,) = plan_of(dialect, CREATE[dialect.name] + clause, schema=Schema()).statements
        outside = table.replace(dialect.quote_string(MARK + dialect.create_queue(queue)), "")
        assert ("INTERLEAVE" in dialect.create_queue(queue), "INTERLEAVE" in outside) == (True, False)


def test_hidden_columns_are_upstreams_business_in_googlesql_only() -> None:
    google = parse(CREATE["googlesql"].replace("NOT NULL,", "NOT NULL HIDDEN,"), GOOGLESQL)
    assert "\n  Id INT64 NOT NULL HIDDEN,\n" in GOOGLESQL.create_table(google, if_not_exists=False)
    other = parse(CREATE["postgresql"].replace("text NOT NULL", "text NOT NULL hidden"), POSTGRESQL)
    table = POSTGRESQL.create_table(other, if_not_exists=False)
    assert "\n  payload text NOT NULL,\n  deliver_time" in table
    assert "payload text NOT NULL hidden," in POSTGRESQL.create_queue(other)
