"""Sessions: made, listed, shared, deleted."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core.exceptions import NotFound
from google.cloud.spanner_v1 import (
    BatchCreateSessionsRequest,
    CreateSessionRequest,
    ListSessionsRequest,
    Session,
)
from google.cloud.spanner_v1.database import Database
from google.cloud.spanner_v1.pool import BurstyPool, PingingPool

from tests.passthrough.helpers import Route

SWITCHES = [
    f"GOOGLE_CLOUD_SPANNER_MULTIPLEXED_SESSIONS{part}" for part in ("", "_PARTITIONED_OPS", "_FOR_RW")
]


def test_create_get_and_delete(database: Database) -> None:
    api = database.spanner_api
    request = CreateSessionRequest(database=database.name, session=Session(labels={"who": "test"}))
    session = api.create_session(request=request)
    assert session.labels == {"who": "test"}
    assert api.get_session(name=session.name).name == session.name
    assert api.execute_sql(request={"session": session.name, "sql": "SELECT 1"}).rows[0][0] == "1"
    api.delete_session(name=session.name)
    with pytest.raises(NotFound, match="Session not found"):
        api.get_session(name=session.name)
    with pytest.raises(NotFound, match="Session not found"):
        api.execute_sql(request={"session": session.name, "sql": "SELECT 1"})


def test_sessions_are_made_together_and_listed_in_pages(database: Database) -> None:
    api = database.spanner_api
    template = Session(labels={"n": "1"})
    request = BatchCreateSessionsRequest(database=database.name, session_count=5, session_template=template)
    made = {session.name for session in api.batch_create_sessions(request=request).session}
    assert len(made) == 5
    pages = list(api.list_sessions(request=ListSessionsRequest(database=database.name, page_size=2)).pages)
    assert [len(page.sessions) for page in pages] == [2, 2, 1]
    assert {session.name for page in pages for session in page.sessions} == made


def test_a_multiplexed_session(database: Database) -> None:
    api = database.spanner_api
    request = CreateSessionRequest(database=database.name, session=Session(multiplexed=True))
    session = api.create_session(request=request)
    assert api.get_session(name=session.name).name == session.name
    assert api.execute_sql(request={"session": session.name, "sql": "SELECT 1"}).rows[0][0] == "1"


def test_a_session_of_no_database(database: Database) -> None:
    with pytest.raises(NotFound, match="Database not found"):
        database.spanner_api.create_session(database=f"{database.name}x")


def use(database: Database) -> None:
    """Read, write, and read in partitions."""
    insert = "INSERT INTO Singers (SingerId) VALUES (1)"
    assert database.run_in_transaction(lambda transaction: transaction.execute_update(insert)) == 1
    with database.batch() as batch:
        batch.insert("Singers", ["SingerId"], [(2,)])
    assert database.execute_partitioned_dml("UPDATE Singers SET Name = 'x' WHERE TRUE") == 2
    with database.snapshot() as snapshot:
        assert list(snapshot.execute_sql("SELECT COUNT(*) FROM Singers WHERE Name = 'x'")) == [[2]]
    rows = database.batch_snapshot().run_partitioned_query("SELECT SingerId FROM Singers")
    assert sorted(row[0] for row in rows) == [1, 2]


@pytest.mark.parametrize("switch", ["true", "false"])
def test_multiplexed_sessions_on_and_off(
    database: Database, monkeypatch: pytest.MonkeyPatch, switch: str
) -> None:
    for name in SWITCHES:
        monkeypatch.setenv(name, switch)
    use(database)


@pytest.mark.parametrize("kind", [BurstyPool, PingingPool])
def test_session_pools(route: Route, database: Database, monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    for name in SWITCHES:
        monkeypatch.setenv(name, "false")
    pool = kind(labels={"pool": "test"})
    use(route.instance.database(database.database_id, pool=pool))
    pool.clear()
