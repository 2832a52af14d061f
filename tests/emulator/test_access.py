"""Roles and grants: kept beside the schema, also when another gateway takes over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from google.api_core.exceptions import FailedPrecondition, GoogleAPICallError, InvalidArgument, NotFound

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import Session
from tests.emulator.words import GOOGLESQL, IN_BOTH_DIALECTS, POSTGRESQL, Words

pytestmark = IN_BOTH_DIALECTS

GRANTS = {
    GOOGLESQL.name: (
        "GRANT DELETE ON QUEUE q TO ROLE sender",
        "GRANT EXECUTE ON TABLE FUNCTION RECEIVE_q TO ROLE sender",
    ),
    POSTGRESQL.name: (
        "GRANT DELETE ON QUEUE q TO sender",
        "GRANT EXECUTE ON FUNCTION spanner.receive_q TO sender",
    ),
}


def revoked(grant: str) -> str:
    head, _, role = grant.rpartition(" TO ")
    return f"{head.replace('GRANT', 'REVOKE', 1)} FROM {role}"


def test_roles_and_grants_are_kept(database: Session, words: Words) -> None:
    before, (delete, execute) = database.shown(), GRANTS[words.name]
    insert = delete.replace("DELETE", "INSERT, DELETE")
    database.ddl("CREATE ROLE sender", insert, execute, revoked(delete).replace("DELETE", "insert"))
    assert database.shown()[len(before) :] == ["CREATE ROLE sender", delete, execute]
    with pytest.raises(FailedPrecondition, match="revoke its privileges first"):
        database.ddl("DROP ROLE sender")
    database.ddl(revoked(delete), revoked(execute), "DROP ROLE sender")
    assert database.shown() == before


def test_they_come_with_the_tables_they_are_about(empty: Session, words: Words) -> None:
    empty.ddl(*words.schema, "CREATE ROLE sender", *GRANTS[words.name])
    assert empty.shown()[-3:] == ["CREATE ROLE sender", *GRANTS[words.name]]
    empty.ddl("DROP QUEUE q")
    assert empty.shown()[-1] == "CREATE ROLE sender"
    empty.ddl(words.schema[-1])
    assert empty.shown()[-1] == "CREATE ROLE sender"


def test_another_gateway_finds_them(database: Session, words: Words, emulator: Emulator) -> None:
    database.ddl("CREATE ROLE sender", *GRANTS[words.name])
    with Emulator(upstream=emulator.upstream) as second:
        other = Session(second, database.path, words=words)
        assert other.shown() == database.shown()
        other.ddl("CREATE ROLE receiver", revoked(GRANTS[words.name][0]))
        shown = ["CREATE ROLE sender", "CREATE ROLE receiver", GRANTS[words.name][1]]
        assert other.shown()[-3:] == shown
    with Emulator(upstream=emulator.upstream) as third:
        assert Session(third, database.path, words=words).shown()[-3:] == shown


def test_they_are_hidden_from_queries(database: Session, words: Words) -> None:
    database.ddl("CREATE ROLE sender")
    for view in ("tables", "views", "columns"):
        names = {
            row[0].lower() for row in database.query(f"SELECT table_name FROM information_schema.{view}")
        }
        assert not any("access" in name for name in names)
        assert view == "views" or "q" in names


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("CREATE ROLE sender", FailedPrecondition),
        ("CREATE ROLE public", FailedPrecondition),
        ("DROP ROLE nobody", NotFound),
        ("DROP ROLE public", InvalidArgument),
        ("GRANT DELETE ON QUEUE nothing TO sender", NotFound),
        ("GRANT DELETE ON QUEUE q TO nobody", NotFound),
        ("GRANT DELETE ON QUEUE Users TO sender", NotFound),
        ("GRANT EXECUTE ON FUNCTION RECEIVE_nothing TO sender", NotFound),
        ("GRANT DELETE ON QUEUE q", InvalidArgument),
    ],
)
def test_what_is_refused(database: Session, statement: str, error: type[GoogleAPICallError]) -> None:
    database.ddl("CREATE ROLE sender")
    before = database.shown()
    with pytest.raises(error):
        database.ddl("CREATE ROLE another", statement)
    assert database.shown() == before


def test_changes_that_come_together_build_on_each_other(database: Session, words: Words) -> None:
    create = words.schema[-1]

    def change(number: int) -> None:
        database.ddl(f"CREATE ROLE r{number}")
        database.ddl(create.replace("QUEUE q", f"QUEUE q{number}"))

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(change, range(6)))
    assert {f"CREATE ROLE r{number}" for number in range(6)} <= set(database.shown())
    assert sum(text.startswith("CREATE QUEUE q") for text in database.shown()) == 7
