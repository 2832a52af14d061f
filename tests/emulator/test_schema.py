"""DDL with queues in it, through the unmodified official client."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import GoogleAPICallError, InvalidArgument, NotFound

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import ID, PAYLOAD, TOKEN, Session
from tests.emulator.words import GOOGLESQL, IN_BOTH_DIALECTS, POSTGRESQL, Words

GOOGLESQL_ORDER = """-- a queue below a table
    create queue IF NOT EXISTS `Order` (
      UserId INT64 NOT NULL, /* led by the parent's */ `Group` STRING(36) NOT NULL,
      CreatedAt TIMESTAMP /* by the client */ NOT NULL,
      Payload BYTES(MAX) NOT NULL
    ) PRIMARY KEY (UserId, `Group` DESC, CreatedAt),
    INTERLEAVE IN PARENT Users ON DELETE CASCADE,
    ROW DELETION POLICY (OLDER_THAN(CreatedAt, INTERVAL 7 DAY)),
    OPTIONS (receive_mode = 'PULL', disable_send = false);"""
POSTGRESQL_ORDER = """-- a queue below a table
    create queue IF NOT EXISTS "Order" (
      UserId bigint NOT NULL, /* led by /* the */ parent's */ "group" varchar(36) NOT NULL,
      CreatedAt timestamptz /* by the client */ NOT NULL,
      payload bytea NOT NULL,
      PRIMARY KEY (UserId, "group", CreatedAt)
    ) INTERLEAVE IN PARENT Users ON DELETE CASCADE
    TTL INTERVAL '7 days' ON CreatedAt
    WITH (disable_send = false);"""


@pytest.mark.parametrize(
    ("words", "create", "shown"),
    [
        (
            GOOGLESQL,
            GOOGLESQL_ORDER,
            (
                "CREATE QUEUE `Order` (\n"
                "  UserId INT64 NOT NULL,\n"
                "  `Group` STRING(36) NOT NULL,\n"
                "  CreatedAt TIMESTAMP NOT NULL,\n"
                "  Payload BYTES(MAX) NOT NULL,\n"
                ") PRIMARY KEY(UserId, `Group` DESC, CreatedAt),\n"
                "  INTERLEAVE IN PARENT Users ON DELETE CASCADE,\n"
                "  ROW DELETION POLICY (OLDER_THAN(CreatedAt, INTERVAL 7 DAY)),\n"
                "  OPTIONS (receive_mode = 'PULL', disable_send = false)"
            ),
        ),
        (
            POSTGRESQL,
            POSTGRESQL_ORDER,
            (
                'CREATE QUEUE "Order" (\n'
                "  userid bigint NOT NULL,\n"
                '  "group" varchar(36) NOT NULL,\n'
                "  createdat timestamptz NOT NULL,\n"
                "  payload bytea NOT NULL,\n"
                '  PRIMARY KEY(userid, "group", createdat)\n'
                ") INTERLEAVE IN PARENT Users ON DELETE CASCADE"
                " TTL INTERVAL '7 days' ON CreatedAt"
                " WITH (disable_send = false)"
            ),
        ),
    ],
    indirect=["words"],
)
def test_the_schema_that_is_shown(empty: Session, words: Words, create: str, shown: str) -> None:
    empty.ddl(words.schema[0], create, words.schema[-1])
    assert shown in empty.shown()
    names = [text.split()[2] for text in empty.shown()]
    assert sorted(name.strip('`"').lower() for name in names) == ["order", "q", "users"]
    if words is GOOGLESQL:
        assert names == ["Users", "`Order`", "q"]


@IN_BOTH_DIALECTS
def test_if_not_exists_and_if_exists(empty: Session, words: Words) -> None:
    create = words.schema[-1].replace("QUEUE q", "QUEUE IF NOT EXISTS q")
    empty.ddl(create, create)
    empty.ddl("DROP QUEUE IF EXISTS q", "DROP QUEUE IF EXISTS q")
    assert empty.shown() == []


@pytest.mark.parametrize("together", [True, False])
@IN_BOTH_DIALECTS
def test_a_queue_that_is_made_anew_starts_without_leases(
    database: Session, words: Words, emulator: Emulator, together: bool
) -> None:
    database.send(1)
    with database.receive() as received:
        received.next()
        statements = ["DROP QUEUE q", words.schema[-1]]
        for batch in [statements] if together else [[statement] for statement in statements]:
            database.ddl(*batch)
        error = received.end()
        assert isinstance(error, NotFound)
    assert emulator.leases(database.path) == []
    database.send(1)
    with database.receive() as received:
        assert received.next()[ID] == 1


@IN_BOTH_DIALECTS
def test_a_queue_that_is_made_anew_may_have_another_key(database: Session, words: Words) -> None:
    database.send(1)
    with database.receive() as received:
        received.next()
    key = "Id STRING(9) NOT NULL" if words is GOOGLESQL else "Id text NOT NULL"
    integer = "Id INT64 NOT NULL" if words is GOOGLESQL else "Id bigint NOT NULL"
    database.ddl("DROP QUEUE q", words.schema[-1].replace(integer, key))
    database.write("INSERT INTO q (Id, Payload) VALUES ('a', 'x')")
    with database.receive(f"SELECT Id, Id IS NULL FROM {words.receive()}") as received:
        assert received.next() == ["a", False]


@pytest.mark.parametrize(
    ("words", "body", "text"),
    [
        (GOOGLESQL, "(Id INT64 NOT NULL) PRIMARY KEY (Id)", "Payload"),
        (GOOGLESQL, "(Id INT64 NOT NULL DEFAULT (1), Payload JSON NOT NULL) PRIMARY KEY (Id)", "DEFAULT"),
        (GOOGLESQL, "(Id INT64 NOT NULL, Payload JSON NOT NULL) PRIMARY KEY (Id), SOMETHING", "SOMETHING"),
        (POSTGRESQL, "(id bigint PRIMARY KEY)", "payload"),
        (POSTGRESQL, "(id bigserial PRIMARY KEY, payload text NOT NULL)", "serial"),
        (POSTGRESQL, "(id bigint PRIMARY KEY, payload text NOT NULL) SOMETHING", "SOMETHING"),
    ],
    indirect=["words"],
)
def test_a_broken_rule_is_refused_before_anything_changes(empty: Session, body: str, text: str) -> None:
    before = empty.words.schema[0]
    with pytest.raises(InvalidArgument, match=text):
        empty.ddl(before, f"CREATE QUEUE bad {body}")
    assert empty.shown() == []


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("CREATE QUEUE s.q (Id INT64)", "named schema"),
        ("DROP QUEUE Users", "Queue not found: Users"),
        ("DROP QUEUE Nothing", "Queue not found"),
        ("DROP TABLE q", "is a queue"),
        ("DROP TABLE IF EXISTS Q;", "is a queue"),
        ("ALTER TABLE q ADD COLUMN More INT64", "is a queue"),
        ("ALTER QUEUE q ADD COLUMN More INT64", "ALTER QUEUE"),
        ("ALTER QUEUE q SET OPTIONS (receive_mode = 'PULL')", "receive_mode"),
        ("ALTER QUEUE Users SET OPTIONS (disable_send = true)", "Queue not found"),
        ("CREATE QUEUE q (Id INT64", "end of statement"),
    ],
)
@IN_BOTH_DIALECTS
def test_wrong_statements_about_queues(database: Session, statement: str, text: str) -> None:
    with pytest.raises((InvalidArgument, NotFound), match=f"(?i){text}"):
        database.ddl(statement)


@IN_BOTH_DIALECTS
def test_a_name_that_is_taken_is_refused(database: Session, words: Words) -> None:
    with pytest.raises(GoogleAPICallError, match=r"(?i)users"):
        database.ddl(words.schema[-1].replace("QUEUE q", "QUEUE Users"))
    with pytest.raises(GoogleAPICallError, match=r"(?i)duplicate name in schema: q"):
        database.ddl(words.schema[-1])
    database.send(1)


@IN_BOTH_DIALECTS
def test_options_are_altered(database: Session) -> None:
    before = len(database.shown())
    database.ddl("ALTER QUEUE q SET OPTIONS (disable_send = true)")
    with pytest.raises(InvalidArgument, match="disable_send"):
        database.send(1)
    database.ddl("ALTER QUEUE Q SET OPTIONS (disable_send = false, disable_delivery = false);")
    database.send(1)
    assert len(database.shown()) == before
    assert any("(disable_send = false, disable_delivery = false)" in text for text in database.shown())
    database.ddl("ALTER QUEUE q SET OPTIONS (disable_send = NULL, disable_delivery = NULL)")
    assert not any("disable_send" in text for text in database.shown())


@pytest.mark.parametrize("words", [GOOGLESQL], indirect=True)
def test_what_googlesql_can_alter(empty: Session) -> None:
    empty.ddl(
        "CREATE TABLE Users (UserId INT64 NOT NULL) PRIMARY KEY (UserId)",
        "CREATE QUEUE m (UserId INT64 NOT NULL, Born TIMESTAMP NOT NULL, Payload JSON NOT NULL)"
        " PRIMARY KEY (UserId, Born), INTERLEAVE IN PARENT Users ON DELETE CASCADE",
    )
    empty.ddl("ALTER QUEUE m SET ON DELETE NO ACTION")
    assert "INTERLEAVE IN PARENT Users ON DELETE NO ACTION" in empty.shown()[1]
    empty.ddl("ALTER QUEUE m ADD ROW DELETION POLICY (OLDER_THAN(Born, INTERVAL 1 DAY))")
    empty.ddl("ALTER QUEUE m REPLACE ROW DELETION POLICY (OLDER_THAN(Born, INTERVAL 2 DAY))")
    assert "(OLDER_THAN(Born, INTERVAL 2 DAY))" in empty.shown()[1]
    empty.ddl("ALTER QUEUE m DROP ROW DELETION POLICY")
    assert "ROW DELETION" not in empty.shown()[1]
    empty.ddl("ALTER QUEUE m SET INTERLEAVE IN PARENT Users ON DELETE CASCADE")
    assert "INTERLEAVE IN PARENT Users ON DELETE CASCADE" in empty.shown()[1]


@IN_BOTH_DIALECTS
def test_views_and_other_statements_pass(database: Session, words: Words) -> None:
    database.ddl("CREATE VIEW v SQL SECURITY INVOKER AS SELECT q.Id, q.Payload FROM q")
    database.send(1)
    assert database.query("SELECT Id, Payload FROM v") == [[1, "p1"]]
    with database.receive() as received:
        assert received.next()[PAYLOAD] == "p1"
        assert received.waiting == 0


@IN_BOTH_DIALECTS
def test_a_changed_schema_keeps_leases_and_streams(database: Session, words: Words) -> None:
    database.send(1)
    with database.receive() as received:
        token = received.next()[TOKEN]
        database.ddl(words.schema[-1].replace("QUEUE q", "QUEUE more"), "CREATE ROLE r")
        assert database.renew(token)[token] is not None
        database.send(2)
        assert received.next()[ID] == 2


@IN_BOTH_DIALECTS
def test_a_statement_that_upstream_refuses_leaves_the_queues_at_work(database: Session, words: Words) -> None:
    with database.receive() as received:
        with pytest.raises(GoogleAPICallError):
            database.ddl(
                words.schema[-1].replace("QUEUE q", "QUEUE more"),
                "CREATE INDEX i ON Nothing (Id)",
                "DROP QUEUE q",
            )
        database.send(1)
        assert received.next()[ID] == 1


@IN_BOTH_DIALECTS
def test_a_dropped_database_ends_its_streams(database: Session) -> None:
    with database.receive() as received:
        database.db.drop()
        error = received.end()
        assert error is not None
        assert error.code == 404
