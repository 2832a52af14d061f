"""CREATE QUEUE and ALTER QUEUE: what is read, what is written, and what breaks a rule."""

from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator.text.definition import QueueDefinition
from sqlalchemy_spanner_queues.emulator.text.dialect import Dialect
from sqlalchemy_spanner_queues.emulator.text.reading import Reader, SqlError
from tests.unit.emulator_text.queues import BOTH, CREATE, GOOGLESQL, POSTGRESQL, named, parse

GOOGLESQL_KEY = "Id INT64 NOT NULL"
GOOGLESQL_QUEUE = f"({GOOGLESQL_KEY}, Payload JSON NOT NULL) PRIMARY KEY (Id)"
POSTGRESQL_QUEUE = "(id bigint PRIMARY KEY, payload jsonb NOT NULL)"


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_the_parts_of_a_queue(dialect: Dialect) -> None:
    queue = parse(CREATE[dialect.name], dialect)
    names = dialect.names
    key = queue.keys[0].name
    assert (queue.name, key.lower(), queue.payload.name) == ("q", "id", names.payload)
    assert queue.columns == (key, names.payload, names.deliver_time)
    assert queue.received_columns == (*queue.columns, *names.lease_columns)
    assert queue.identity_columns == (key, names.deliver_time)
    assert (queue.interleave, queue.on_delete, queue.row_deletion, dict(queue.options)) == ("", "", "", {})


def test_columns_keep_their_order_and_the_key_has_its_own() -> None:
    queue = parse(
        "CREATE QUEUE q (b INT64, payload a.b.Message NOT NULL HIDDEN, A INT64) PRIMARY KEY (a ASC, B desc)",
        GOOGLESQL,
    )
    assert queue.columns == ("b", "A", "payload", "DeliverTime")
    assert (queue.key_order, queue.key_parts) == (("A", "b"), ("A ASC", "b desc"))


@pytest.mark.parametrize(
    ("sql", "written"),
    [
        (
            (
                "create queue if not exists `Order` (`Group` STRING(36) NOT NULL OPTIONS (x = 'a, b'),"
                " -- a comment\n Payload /* another */ BYTES(MAX)\nNOT NULL,) primary key (`Group` DESC),"
                " OPTIONS (receive_mode = 'PULL', disable_send = FALSE);"
            ),
            (
                "CREATE QUEUE `Order` (\n  `Group` STRING(36) NOT NULL OPTIONS (x = 'a, b'),\n"
                "  Payload BYTES(MAX) NOT NULL,\n) PRIMARY KEY(`Group` DESC),\n"
                "  OPTIONS (receive_mode = 'PULL', disable_send = FALSE)"
            ),
        ),
        (
            (
                "CREATE QUEUE q (UserId INT64, At TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp=true),"
                " Half INT64 AS (UserId / 2) STORED HIDDEN, Payload STRING(MAX) NOT NULL)"
                " PRIMARY KEY (UserId, At, Half), INTERLEAVE IN PARENT Users ON DELETE CASCADE,"
                " ROW DELETION POLICY (OLDER_THAN(At, INTERVAL 7 DAY))"
            ),
            (
                "CREATE QUEUE q (\n  UserId INT64,\n"
                "  At TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp=true),\n"
                "  Half INT64 AS (UserId / 2) STORED HIDDEN,\n  Payload STRING(MAX) NOT NULL,\n"
                ") PRIMARY KEY(UserId, `At`, Half),\n  INTERLEAVE IN PARENT Users ON DELETE CASCADE,\n"
                "  ROW DELETION POLICY (OLDER_THAN(At, INTERVAL 7 DAY))"
            ),
        ),
        (
            (
                "CREATE QUEUE q (Check INT64, Primary INT64, Foreign INT64, Constraint INT64,"
                " Payload JSON NOT NULL)"
                " PRIMARY KEY (Check, Primary, Foreign, Constraint), INTERLEAVE IN `my table`"
            ),
            (
                "CREATE QUEUE q (\n  Check INT64,\n  Primary INT64,\n  Foreign INT64,\n  Constraint INT64,\n"
                "  Payload JSON NOT NULL,\n) PRIMARY KEY(Check, Primary, Foreign, Constraint),\n"
                "  INTERLEAVE IN `my table`"
            ),
        ),
    ],
)
def test_googlesql_as_spanner_prints_it(sql: str, written: str) -> None:
    assert GOOGLESQL.create_queue(parse(sql, GOOGLESQL)) == written


@pytest.mark.parametrize(
    ("sql", "written"),
    [
        (
            (
                'create queue if not exists public."UserTasks" ("Id" varchar(36)PRIMARY KEY, -- a comment\n'
                " PAYLOAD /* another /* in it */ */ varchar(100)\nNOT NULL/**/hidden)"
                " WITH (DISABLE_SEND = TRUE);"
            ),
            (
                'CREATE QUEUE "UserTasks" (\n  "Id" varchar(36),\n  payload varchar(100) NOT NULL hidden,\n'
                '  PRIMARY KEY("Id")\n) WITH (disable_send = TRUE)'
            ),
        ),
        (
            (
                "CREATE QUEUE q (UserId bigint, at timestamptz,"
                ' "primary" bigint GENERATED ALWAYS AS (userid / 2) STORED,'
                ' payload bytea NOT NULL, PRIMARY KEY (UserId, at, "primary"))'
                " INTERLEAVE IN PARENT users ON DELETE NO ACTION TTL INTERVAL '3 days' ON at"
                " WITH (locality_group = 'x', disable_delivery = false)"
            ),
            (
                "CREATE QUEUE q (\n  userid bigint,\n  at timestamptz,\n"
                '  "primary" bigint GENERATED ALWAYS AS (userid / 2) STORED,\n  payload bytea NOT NULL,\n'
                '  PRIMARY KEY(userid, at, "primary")\n) INTERLEAVE IN PARENT users ON DELETE NO ACTION'
                " TTL INTERVAL '3 days' ON at WITH (locality_group = 'x', disable_delivery = false)"
            ),
        ),
        (
            (
                "CREATE QUEUE q (id character varying(36), payload character varying NOT NULL,"
                " PRIMARY KEY (id))"
                " INTERLEAVE IN users"
            ),
            (
                "CREATE QUEUE q (\n  id character varying(36),\n  payload character varying NOT NULL,\n"
                "  PRIMARY KEY(id)\n) INTERLEAVE IN users"
            ),
        ),
    ],
)
def test_postgresql_as_spanner_prints_it(sql: str, written: str) -> None:
    assert POSTGRESQL.create_queue(parse(sql, POSTGRESQL)) == written


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("(Id INT64 NOT NULL) PRIMARY KEY (Id)", "exactly one column named Payload"),
        (f"({GOOGLESQL_KEY}, Payload JSON NOT NULL, payload JSON NOT NULL) PRIMARY KEY (Id)", "exactly one"),
        (f"({GOOGLESQL_KEY}, Payload JSON) PRIMARY KEY (Id)", "NOT NULL"),
        (f"({GOOGLESQL_KEY}, Payload INT64 NOT NULL) PRIMARY KEY (Id)", "BYTES, STRING, JSON"),
        (f"({GOOGLESQL_KEY}, Payload NOT NULL) PRIMARY KEY (Id)", "BYTES, STRING, JSON"),
        (f"({GOOGLESQL_KEY}, More INT64, Payload JSON NOT NULL) PRIMARY KEY (Id)", "More"),
        (f"({GOOGLESQL_KEY}, Payload JSON NOT NULL) PRIMARY KEY (Id, Payload)", "primary key"),
        (f"({GOOGLESQL_KEY}, Payload JSON NOT NULL) PRIMARY KEY ()", "at least one key column"),
        (f"({GOOGLESQL_KEY}, Payload JSON NOT NULL) PRIMARY KEY (Id, Nothing)", "nonexistent"),
        (f"({GOOGLESQL_KEY}, Payload JSON NOT NULL)", "no PRIMARY KEY"),
        ("(Id INT64 NOT NULL DEFAULT (1), Payload JSON NOT NULL) PRIMARY KEY (Id)", "DEFAULT"),
        ("(Id INT64 GENERATED BY DEFAULT AS IDENTITY, Payload JSON NOT NULL) PRIMARY KEY (Id)", "DEFAULT"),
        ("(Id INT64 GENERATED ALWAYS AS (1) STORED, Payload JSON NOT NULL) PRIMARY KEY (Id)", "GENERATED"),
        ("(Id INT64 NOT NULL PRIMARY KEY, Payload JSON NOT NULL)", "PRIMARY KEY must follow"),
        ("(Id INT64 REFERENCES t (Id), Payload JSON NOT NULL) PRIMARY KEY (Id)", "REFERENCES"),
        (f"({GOOGLESQL_KEY}, delivertime TIMESTAMP, Payload JSON NOT NULL) PRIMARY KEY (Id)", "system"),
        (f"({GOOGLESQL_KEY}, CHECK (Id > 0), Payload JSON NOT NULL) PRIMARY KEY (Id)", "CHECK clause"),
        (f"({GOOGLESQL_KEY}, CONSTRAINT c CHECK (Id > 0), Payload JSON NOT NULL)", "CONSTRAINT"),
        (f"({GOOGLESQL_KEY}, FOREIGN KEY (Id) REFERENCES t (Id), Payload JSON NOT NULL)", "FOREIGN"),
        ("(Id INT64 AS (1), Payload JSON NOT NULL) PRIMARY KEY (Id)", "STORED"),
        (f"{GOOGLESQL_QUEUE}, OPTIONS (speed = 1)", "speed is unknown"),
        (f"{GOOGLESQL_QUEUE}, OPTIONS (disable_send)", "name = value"),
        (f"{GOOGLESQL_QUEUE}, OPTIONS (disable_send = 7)", "disable_send"),
        (f"{GOOGLESQL_QUEUE}, OPTIONS (receive_mode = 'PUSH')", "receive_mode"),
        (f"{GOOGLESQL_QUEUE}, SOMETHING", "SOMETHING"),
        (f"{GOOGLESQL_QUEUE} INTERLEAVE IN t", "expected ','"),
        (f"{GOOGLESQL_QUEUE}, INTERLEAVE IN t ON DELETE SET NULL", "CASCADE or NO ACTION"),
        (f"{GOOGLESQL_QUEUE}, ROW DELETION POLICY", "expected '\\('"),
        ("(Id INT64", "end of statement"),
        ("", "end of statement"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_in_googlesql(body: str, text: str) -> None:
    with pytest.raises(SqlError, match=text):
        parse(f"CREATE QUEUE q {body}", GOOGLESQL)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("(id bigint PRIMARY KEY)", "exactly one column named payload"),
        ("(id bigint PRIMARY KEY, payload text)", "NOT NULL"),
        ("(id bigint PRIMARY KEY, payload bigint NOT NULL)", "bytea, text, varchar or jsonb"),
        ("(id bigint PRIMARY KEY, more bigint, payload text NOT NULL)", "more"),
        ("(id bigint, payload text NOT NULL)", "exactly one PRIMARY KEY"),
        ("(id bigint PRIMARY KEY, payload text NOT NULL, PRIMARY KEY (id))", "exactly one PRIMARY KEY"),
        ("(id bigint PRIMARY KEY, b bigint PRIMARY KEY, payload text NOT NULL)", "exactly one PRIMARY KEY"),
        ("(payload text NOT NULL, PRIMARY KEY ())", "at least one key column"),
        ("(id bigint, payload text NOT NULL, PRIMARY KEY (id DESC))", "without ASC or DESC"),
        ("(id bigint, payload text NOT NULL, PRIMARY KEY (id, payload))", "primary key"),
        ("(id bigserial PRIMARY KEY, payload text NOT NULL)", "serial or identity"),
        ("(id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, payload text NOT NULL)", "identity"),
        ("(id bigint DEFAULT 1 PRIMARY KEY, payload text NOT NULL)", "DEFAULT"),
        ("(id bigint GENERATED ALWAYS AS (1) PRIMARY KEY, payload text NOT NULL)", "STORED"),
        ("(spanner_id bigint PRIMARY KEY, payload text NOT NULL)", "reserved"),
        ("(Deliver_Time timestamptz PRIMARY KEY, payload text NOT NULL)", "system"),
        ("(id bigint PRIMARY KEY, CHECK (id > 0), payload text NOT NULL)", "CHECK clause"),
        ("(id bigint PRIMARY KEY, UNIQUE (id), payload text NOT NULL)", "UNIQUE clause"),
        ("(id bigint PRIMARY KEY, 5 bigint, payload text NOT NULL)", "expected a column but got '5'"),
        (f"{POSTGRESQL_QUEUE} WITH (speed = 1)", "speed is unknown"),
        (f"{POSTGRESQL_QUEUE} WITH (disable_send = 'maybe')", "disable_send"),
        (f"{POSTGRESQL_QUEUE}, WITH (disable_send = true)", "unexpected ','"),
        (f"{POSTGRESQL_QUEUE} TTL INTERVAL 3 ON at", "TTL"),
        (f"{POSTGRESQL_QUEUE} PRIMARY KEY (id)", "unexpected 'PRIMARY'"),
    ],
)
def test_what_breaks_a_rule_in_postgresql(body: str, text: str) -> None:
    with pytest.raises(SqlError, match=text):
        parse(f"CREATE QUEUE q {body}", POSTGRESQL)


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_queues_stand_in_no_named_schema(dialect: Dialect) -> None:
    with pytest.raises(SqlError, match=r"Queue s[.]q cannot be created in a named schema"):
        parse(CREATE[dialect.name].replace("q", "s.q", 1), dialect)
    with pytest.raises(SqlError, match="expected a name"):
        parse(CREATE[dialect.name].replace("q", "'q'", 1), dialect)


def altered(change: str, queue: QueueDefinition, dialect: Dialect) -> tuple[QueueDefinition, list[str]]:
    reader = Reader(change, dialect.tokenize(change))
    changed = dialect.alter_queue(reader, queue)
    reader.expect_end()
    return changed


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_options_are_set_over_those_that_there_are(dialect: Dialect) -> None:
    queue = parse(CREATE[dialect.name], dialect)
    changed, actions = altered("SET OPTIONS (disable_send = true, Disable_Delivery = TRUE)", queue, dialect)
    assert (changed.enabled("disable_send"), changed.enabled("disable_delivery"), actions) == (True, True, [])
    again, _ = altered("set options (disable_delivery = NULL)", changed, dialect)
    assert dict(again.options) == {"disable_send": "true"}
    with pytest.raises(SqlError, match="cannot be altered"):
        altered("SET OPTIONS (receive_mode = 'PULL')", queue, dialect)
    for unknown in ("ADD COLUMN more INT64", "SET OPTIONS", "RENAME TO r", ""):
        with pytest.raises(SqlError):
            altered(unknown, queue, dialect)


@pytest.mark.parametrize(
    ("interleave", "change", "actions"),
    [
        ("IN PARENT t", "SET ON DELETE CASCADE", ["SET ON DELETE CASCADE"]),
        ("IN t", "SET ON DELETE NO ACTION", []),
        ("IN PARENT t", "SET INTERLEAVE IN PARENT u ON DELETE CASCADE",
         ["SET INTERLEAVE IN PARENT u ON DELETE CASCADE"]),
        ("IN PARENT t", "SET INTERLEAVE IN PARENT T ON DELETE CASCADE", ["SET ON DELETE CASCADE"]),
        ("IN PARENT t ON DELETE CASCADE", "SET INTERLEAVE IN PARENT t", ["SET ON DELETE NO ACTION"]),
        ("IN PARENT t", "SET INTERLEAVE IN t", []),
        ("IN t", "SET INTERLEAVE IN PARENT t", []),
        ("IN t", "SET INTERLEAVE IN u", []),
        ("IN t", "ADD ROW DELETION POLICY (OLDER_THAN(Id, INTERVAL 1 DAY))",
         ["ADD ROW DELETION POLICY (OLDER_THAN(Id, INTERVAL 1 DAY))"]),
        ("IN t", "REPLACE ROW DELETION POLICY (OLDER_THAN(Id, INTERVAL 2 DAY))",
         ["REPLACE ROW DELETION POLICY (OLDER_THAN(Id, INTERVAL 2 DAY))"]),
        ("IN t", "drop row deletion policy", ["DROP ROW DELETION POLICY"]),
    ],
)  # fmt: skip
def test_alterations_of_googlesql(interleave: str, change: str, actions: list[str]) -> None:
    queue = parse(f"{CREATE['googlesql']}, INTERLEAVE {interleave}", GOOGLESQL)
    changed, taken = altered(change, queue, GOOGLESQL)
    assert taken == actions
    words = change.split(" ", 1)[1].removeprefix("INTERLEAVE ").removeprefix("row deletion policy")
    assert words.removeprefix("SET ") in GOOGLESQL.create_queue(changed)


def test_postgresql_alters_options_only() -> None:
    queue = parse(CREATE["postgresql"], POSTGRESQL)
    with pytest.raises(SqlError, match="only SET OPTIONS"):
        altered("SET ON DELETE CASCADE", queue, POSTGRESQL)
