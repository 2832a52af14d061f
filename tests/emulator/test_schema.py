"""DDL with queues in it, through the unmodified official client."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import FailedPrecondition, GoogleAPICallError, InvalidArgument, NotFound

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import ID, Session


@pytest.fixture
def empty(emulator: Emulator) -> Session:
    emulator.reset()
    return Session(emulator, emulator.create_database())


def ddl(session: Session, *statements: str) -> None:
    session.db.update_ddl(list(statements)).result()


def shown(session: Session) -> list[str]:
    session.db.reload()
    return list(session.db.ddl_statements)


def test_tables_and_queues_in_one_list_keep_their_order(empty: Session) -> None:
    ddl(
        empty,
        "CREATE TABLE Users (UserId INT64 NOT NULL) PRIMARY KEY (UserId)",
        """-- a queue below a table
        create queue IF NOT EXISTS `Order` (
          UserId INT64 NOT NULL, /* led by the parent's */ `Group` STRING(36) NOT NULL,
          CreatedAt TIMESTAMP NOT NULL,
          Payload BYTES(MAX) NOT NULL
        ) PRIMARY KEY (UserId, `Group` DESC, CreatedAt),
        INTERLEAVE IN PARENT Users ON DELETE CASCADE,
        ROW DELETION POLICY (OLDER_THAN(CreatedAt, INTERVAL 7 DAY)),
        OPTIONS (receive_mode = 'PULL', disable_send = false);""",
        "CREATE TABLE Notes (NoteId INT64 NOT NULL) PRIMARY KEY (NoteId)",
    )
    assert shown(empty)[1] == (
        "CREATE QUEUE `Order` (\n"
        "  UserId INT64 NOT NULL,\n"
        "  `Group` STRING(36) NOT NULL,\n"
        "  CreatedAt TIMESTAMP NOT NULL,\n"
        "  Payload BYTES(MAX) NOT NULL,\n"
        ") PRIMARY KEY(UserId, `Group` DESC, CreatedAt),\n"
        "  INTERLEAVE IN PARENT Users ON DELETE CASCADE,\n"
        "  ROW DELETION POLICY (OLDER_THAN(CreatedAt, INTERVAL 7 DAY)),\n"
        "  OPTIONS (receive_mode = 'PULL', disable_send = false)"
    )
    assert [text.split()[2] for text in shown(empty)] == ["Users", "`Order`", "Notes"]


def test_if_not_exists_and_if_exists(empty: Session) -> None:
    create = "CREATE QUEUE IF NOT EXISTS a (Id INT64 NOT NULL, Payload JSON NOT NULL) PRIMARY KEY (Id)"
    ddl(empty, create, create)
    ddl(empty, "DROP QUEUE IF EXISTS a", "DROP QUEUE IF EXISTS a")
    assert shown(empty) == []


def test_a_queue_is_dropped_and_made_anew(database: Session) -> None:
    database.send(1)
    with database.receive() as received:
        received.next()
    ddl(
        database,
        "DROP QUEUE q",
        "CREATE QUEUE q (Id INT64 NOT NULL, Payload STRING(9) NOT NULL) PRIMARY KEY (Id)",
    )
    database.send(1)
    with database.receive() as received:
        assert received.next()[ID] == 1


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("(Id INT64 NOT NULL) PRIMARY KEY (Id)", "Payload"),
        ("(Id INT64 NOT NULL, Payload JSON) PRIMARY KEY (Id)", "NOT NULL"),
        ("(Id INT64 NOT NULL, Payload INT64 NOT NULL) PRIMARY KEY (Id)", "BYTES, STRING, JSON"),
        ("(Id INT64 NOT NULL, More INT64, Payload JSON NOT NULL) PRIMARY KEY (Id)", "More"),
        ("(Id INT64 NOT NULL, Payload JSON NOT NULL) PRIMARY KEY (Id, Payload)", "primary key"),
        ("(Id INT64 NOT NULL, Payload JSON NOT NULL) PRIMARY KEY (Nothing)", "Id"),
        ("(Id INT64 NOT NULL DEFAULT (1), Payload JSON NOT NULL) PRIMARY KEY (Id)", "DEFAULT"),
        ("(Id INT64 NOT NULL PRIMARY KEY, Payload JSON NOT NULL)", "PRIMARY KEY"),
        ("(Id INT64 NOT NULL, DeliverTime TIMESTAMP, Payload JSON NOT NULL) PRIMARY KEY (Id)", "system"),
        ("(Id INT64 NOT NULL, CHECK (Id > 0), Payload JSON NOT NULL) PRIMARY KEY (Id)", "CHECK"),
        ("(Id INT64 AS (1), Payload JSON NOT NULL) PRIMARY KEY (Id)", "STORED"),
        ("(Id INT64 NOT NULL, Payload JSON NOT NULL) PRIMARY KEY (Id), OPTIONS (speed = 1)", "speed"),
        (
            "(Id INT64 NOT NULL, Payload JSON NOT NULL) PRIMARY KEY (Id), OPTIONS (disable_send = 7)",
            "disable_send",
        ),
        ("(Id INT64 NOT NULL, Payload JSON NOT NULL) PRIMARY KEY (Id), SOMETHING", "SOMETHING"),
    ],
)
def test_a_broken_rule_is_refused_before_anything_changes(empty: Session, body: str, text: str) -> None:
    with pytest.raises(InvalidArgument, match=text):
        ddl(empty, "CREATE TABLE Before (Id INT64) PRIMARY KEY (Id)", f"CREATE QUEUE bad {body}")
    assert shown(empty) == []


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("CREATE QUEUE s.q (Id INT64 NOT NULL, Payload JSON NOT NULL) PRIMARY KEY (Id)", "named schema"),
        ("DROP QUEUE Users", "Queue not found: Users"),
        ("DROP QUEUE Nothing", "Queue not found"),
        ("DROP TABLE q", "is a queue"),
        ("ALTER TABLE q ADD COLUMN More INT64", "is a queue"),
        ("ALTER QUEUE q ADD COLUMN More INT64", "ALTER QUEUE"),
        ("ALTER QUEUE q SET OPTIONS (receive_mode = 'PULL')", "receive_mode"),
        ("CREATE QUEUE q (Id INT64", "end of statement"),
    ],
)
def test_wrong_statements_about_queues(database: Session, statement: str, text: str) -> None:
    with pytest.raises((InvalidArgument, NotFound), match=text):
        ddl(database, statement)


def test_a_name_that_is_taken_is_refused(database: Session) -> None:
    with pytest.raises(GoogleAPICallError, match="Users"):
        ddl(database, "CREATE QUEUE Users (Id INT64 NOT NULL, Payload JSON NOT NULL) PRIMARY KEY (Id)")


def test_alter_queue(database: Session) -> None:
    ddl(database, "ALTER QUEUE q SET OPTIONS (disable_send = true)")
    with pytest.raises(InvalidArgument, match="disable_send"):
        database.send(1)
    ddl(
        database,
        "ALTER QUEUE Mails SET ON DELETE NO ACTION",
        "ALTER QUEUE q SET OPTIONS (disable_send = false)",
    )
    database.send(1)
    assert "ON DELETE NO ACTION" in shown(database)[1]
    assert "disable_send = false" in shown(database)[2]


def test_roles_and_grants_are_kept(database: Session) -> None:
    before = shown(database)
    ddl(
        database,
        "CREATE ROLE sender",
        "GRANT INSERT, DELETE ON QUEUE q TO ROLE sender",
        "GRANT EXECUTE ON TABLE FUNCTION RECEIVE_q TO ROLE sender",
        "REVOKE INSERT ON QUEUE q FROM ROLE sender",
    )
    assert shown(database)[len(before) :] == [
        "CREATE ROLE sender",
        "GRANT DELETE ON QUEUE q TO ROLE sender",
        "GRANT EXECUTE ON TABLE FUNCTION RECEIVE_q TO ROLE sender",
    ]
    with pytest.raises(FailedPrecondition, match="revoke its privileges first"):
        ddl(database, "DROP ROLE sender")
    ddl(
        database,
        "REVOKE DELETE ON QUEUE q FROM ROLE sender",
        "REVOKE EXECUTE ON TABLE FUNCTION RECEIVE_q FROM ROLE sender",
        "DROP ROLE sender",
    )
    assert shown(database) == before


def test_another_gateway_finds_the_queues_of_a_running_emulator(
    database: Session, emulator: Emulator
) -> None:
    database.send(1)
    with Emulator(upstream=upstream_of(emulator)) as second:
        other = Session(second, database.path)
        assert shown(other) == shown(database)
        with other.receive() as received:
            assert received.next()[ID] == 1


def upstream_of(emulator: Emulator) -> str:
    return emulator._control("Ping")["upstream"]


def test_a_dropped_database_ends_its_streams(database: Session) -> None:
    with database.receive() as received:
        database.db.drop()
        error = received.end()
        assert error is not None
        assert error.code == 404
