"""Row deletion policies are carried out when the clock is moved past them, for tables and queues alike."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import GoogleAPICallError

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import Session

DAY_SECONDS = 86400

SCHEMAS = {
    "googlesql": (
        """CREATE TABLE Visits (Id INT64 NOT NULL, Born TIMESTAMP NOT NULL) PRIMARY KEY (Id),
        ROW DELETION POLICY (OLDER_THAN(Born, INTERVAL 2 DAY))""",
        """CREATE QUEUE q (Id INT64 NOT NULL, Born TIMESTAMP NOT NULL, Payload STRING(MAX) NOT NULL)
        PRIMARY KEY (Id, Born), ROW DELETION POLICY (OLDER_THAN(Born, INTERVAL 3 DAY))""",
        "CREATE TABLE Kept (Id INT64 NOT NULL, Born TIMESTAMP NOT NULL) PRIMARY KEY (Id)",
    ),
    "postgresql": (
        """CREATE TABLE visits (id bigint NOT NULL PRIMARY KEY, born timestamptz NOT NULL)
        TTL INTERVAL '2 days' ON born""",
        """CREATE QUEUE q (id bigint NOT NULL, born timestamptz NOT NULL, payload text NOT NULL,
        PRIMARY KEY (id, born)) TTL INTERVAL '3 days' ON born""",
        "CREATE TABLE kept (id bigint NOT NULL PRIMARY KEY, born timestamptz NOT NULL)",
    ),
}
RECEIVE = {"googlesql": "SELECT * FROM RECEIVE_q()", "postgresql": "SELECT * FROM spanner.receive_q()"}


@pytest.fixture(params=SCHEMAS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def database(emulator: Emulator, dialect: str) -> Session:
    emulator.reset()
    path = emulator.create_database(dialect, SCHEMAS[dialect])  # type: ignore[arg-type]
    session = Session(emulator, path)
    session.write(
        "INSERT INTO Visits (Id, Born) VALUES (1, CURRENT_TIMESTAMP)",
        "INSERT INTO Kept (Id, Born) VALUES (1, CURRENT_TIMESTAMP)",
        "INSERT INTO q (Id, Born, Payload) VALUES (1, CURRENT_TIMESTAMP, 'x')",
    )
    return session


def rows(database: Session, table: str) -> int:
    return len(database.query(f"SELECT Id FROM {table}"))


def test_rows_go_when_their_time_is_over(database: Session, emulator: Emulator) -> None:
    emulator.advance(DAY_SECONDS * 1.5)
    assert [rows(database, table) for table in ("Visits", "q", "Kept")] == [1, 1, 1]
    emulator.advance(DAY_SECONDS)
    assert [rows(database, table) for table in ("Visits", "q", "Kept")] == [0, 1, 1]
    emulator.advance(DAY_SECONDS)
    assert [rows(database, table) for table in ("Visits", "q", "Kept")] == [0, 0, 1]


def test_a_message_that_went_is_not_delivered(database: Session, emulator: Emulator, dialect: str) -> None:
    emulator.advance(DAY_SECONDS * 4)
    database.write("INSERT INTO q (Id, Born, Payload) VALUES (2, CURRENT_TIMESTAMP, 'y')")
    with database.receive(RECEIVE[dialect]) as received:
        assert received.next()[0] == 2
        assert received.waiting == 0


def test_a_policy_that_is_added_later_counts(database: Session, emulator: Emulator, dialect: str) -> None:
    policy = (
        "ADD ROW DELETION POLICY (OLDER_THAN(Born, INTERVAL 1 DAY))"
        if dialect == "googlesql"
        else "ADD TTL INTERVAL '1 days' ON born"
    )
    database.db.update_ddl([f"ALTER TABLE Kept {policy}"]).result()
    emulator.advance(DAY_SECONDS * 1.5)
    assert [rows(database, table) for table in ("Visits", "q", "Kept")] == [1, 1, 0]


def test_a_database_that_never_was_does_not_hold_it_up(database: Session, emulator: Emulator) -> None:
    for name in ("nonsense", f"{database.path}-there-is-none/sessions/s"):
        with pytest.raises(GoogleAPICallError):
            database.db.spanner_api.execute_sql({"session": name, "sql": "DELETE FROM Visits WHERE TRUE"})
    emulator.advance(2 * DAY_SECONDS)
    assert rows(database, "Visits") == 0
