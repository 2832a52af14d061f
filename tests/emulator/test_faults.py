"""Faults that a test asks for, as the official client sees them."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from google.api_core.exceptions import (
    DataLoss,
    DeadlineExceeded,
    GoogleAPICallError,
    InternalServerError,
    PermissionDenied,
    ResourceExhausted,
    ServiceUnavailable,
)
from google.cloud.spanner_v1 import KeySet

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator.matching import MATCHED
from sqlalchemy_spanner_queues.emulator.rpcs import ROW_STREAMS, method_names
from sqlalchemy_spanner_queues.emulator.serving.server import STREAMING, UNARY
from sqlalchemy_spanner_queues.emulator.writing.turns import IDLE_SECONDS
from sqlalchemy_spanner_queues.exc import EmulatorError
from tests.emulator.helpers import ID, Session


def test_a_commit_that_fails_before_it_is_applied(database: Session, emulator: Emulator) -> None:
    emulator.inject("Commit", code="DEADLINE_EXCEEDED")
    with pytest.raises(DeadlineExceeded):
        database.send(1)
    assert database.query("SELECT Id FROM q") == []
    database.send(1)


def test_a_commit_that_lands_without_its_client_hearing_of_it(database: Session, emulator: Emulator) -> None:
    emulator.inject("Commit", code="DEADLINE_EXCEEDED", after_apply=True)
    with pytest.raises(DeadlineExceeded):
        database.send(1)
    assert database.query("SELECT Id FROM q") == [[1]]
    with database.receive() as received:
        assert received.next()[ID] == 1


def test_a_repeated_commit_gets_the_first_answer(database: Session, emulator: Emulator) -> None:
    # The client itself repeats a commit that ends in UNAVAILABLE.
    emulator.inject("Commit", code="UNAVAILABLE", after_apply=True)
    emulator.requests(reset=True)
    database.send(1)
    assert emulator.requests()["Commit"] == 2
    assert database.query("SELECT Id FROM q") == [[1]]


def test_an_aborted_commit_is_run_again_by_the_client(database: Session, emulator: Emulator) -> None:
    emulator.inject("Commit", code="ABORTED", times=2)
    emulator.requests(reset=True)
    before = time.monotonic()
    database.send(1)
    assert emulator.requests()["Commit"] == 3
    assert database.query("SELECT Id FROM q") == [[1]]
    # Left alone the client would wait for seconds, twice as long each time.
    assert time.monotonic() - before < 2


@pytest.mark.parametrize("fault", [{"drop_after_rows": 1}, {"after_apply": True}])
def test_a_query_that_is_aborted_loses_its_transaction(
    database: Session, emulator: Emulator, fault: dict[str, Any]
) -> None:
    emulator.inject("ExecuteStreamingSql", code="ABORTED", match="SELECT Id", **fault)
    database.send(1, 2)

    def work(transaction: Any) -> list[list[int]]:
        transaction.execute_update("UPDATE Users SET Name = 'x' WHERE UserId = 1")
        return sorted(transaction.execute_sql("SELECT Id FROM q"))

    before = time.monotonic()
    assert database.db.run_in_transaction(work) == [[1], [2]]
    assert time.monotonic() - before < IDLE_SECONDS


def test_a_stream_that_breaks_after_some_rows(database: Session, emulator: Emulator) -> None:
    database.send(1, 2, 3)
    emulator.inject("ExecuteStreamingSql", code="INTERNAL", drop_after_rows=2, match="RECEIVE_")
    with database.receive() as received:
        assert sorted(row[ID] for row in received.take(2)) <= [1, 2, 3]
        assert isinstance(received.end(), InternalServerError)
    with database.receive() as received:
        emulator.advance(10)
        assert sorted(row[ID] for row in received.take(3)) == [1, 2, 3]


def test_match_picks_the_statement(database: Session, emulator: Emulator) -> None:
    emulator.inject("ExecuteStreamingSql", code="INTERNAL", match="RENEWLEASE_")
    assert database.query("SELECT 1") == [[1]]
    with pytest.raises(InternalServerError):
        database.renew("token")


@pytest.mark.parametrize("after_apply", [False, True])
def test_a_delay(database: Session, emulator: Emulator, after_apply: bool) -> None:
    emulator.inject("ExecuteStreamingSql", code=None, delay=0.2, after_apply=after_apply)
    before = time.monotonic()
    assert database.query("SELECT 1") == [[1]]
    assert time.monotonic() - before >= 0.2


@pytest.mark.parametrize("after_apply", [False, True])
def test_an_answer_that_comes_after_the_clients_deadline(
    database: Session, emulator: Emulator, after_apply: bool
) -> None:
    emulator.inject("Commit", code=None, delay=60.0, after_apply=after_apply)
    request = {"session": session_of(database), "mutations": [insert(1)], "single_use_transaction": WRITE}
    with pytest.raises(DeadlineExceeded):
        database.db.spanner_api.commit(request, timeout=1.0, retry=None)
    assert database.query("SELECT Id FROM q") == ([[1]] if after_apply else [])


WRITE = {"read_write": {}}


def session_of(database: Session) -> str:
    return str(database.request("SELECT 1").session)


def insert(id: int) -> dict[str, object]:
    row = {"columns": ["Id", "Payload"], "values": [[str(id), "x"]]}
    return {"insert": {"table": "q", **row}}


def test_match_finds_what_mutations_and_reads_name(database: Session, emulator: Emulator) -> None:
    emulator.inject("Commit", code="INTERNAL", match="Users")
    emulator.inject("Commit", code="DATA_LOSS", match="q")
    database.send(1)
    with pytest.raises(DataLoss), database.db.batch() as batch:
        batch.send(queue="q", key=(2,), payload="x")
    with database.db.batch() as batch:
        batch.send(queue="q", key=(2,), payload="x")
    with pytest.raises(InternalServerError), database.db.batch() as batch:
        batch.insert("Users", ("UserId",), [(1,)])
    emulator.inject("StreamingRead", code="INTERNAL", match="Users")
    with database.db.snapshot(multi_use=True) as snapshot:
        assert sorted(snapshot.read("q", ("Id",), KeySet(all_=True))) == [[1], [2]]
        with pytest.raises(InternalServerError):
            list(snapshot.read("Users", ("UserId",), KeySet(all_=True)))


@pytest.mark.parametrize("after_apply", [False, True])
def test_methods_that_the_gateway_passes_through_fail_too(
    database: Session, emulator: Emulator, after_apply: bool
) -> None:
    emulator.inject("UpdateDatabaseDdl", code="INTERNAL", after_apply=after_apply, match="CREATE TABLE U")
    emulator.inject("GetDatabase", code="PERMISSION_DENIED", after_apply=after_apply)
    emulator.inject("CreateInstance", code="RESOURCE_EXHAUSTED")
    with pytest.raises(InternalServerError):
        database.db.update_ddl(["CREATE TABLE U (Id INT64) PRIMARY KEY (Id)"])
    with pytest.raises(PermissionDenied):
        database.db.reload()
    with pytest.raises(ResourceExhausted):
        emulator.client.instance("more", f"{emulator.client.project_name}/instanceConfigs/c").create()
    made = database.query("SELECT 1 FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'U'")
    assert made == ([[1]] if after_apply else [])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"method": "Comit"}, "unknown method 'Comit': use Commit"),
        ({"method": "google.spanner.v1.Spanner/Commit"}, "a short name such as Commit"),
        ({"method": "Commit", "code": "NO_SUCH_CODE"}, "unknown status code 'NO_SUCH_CODE': use one of CANC"),
        ({"method": "Commit", "code": "OK"}, "unknown status code 'OK'"),
        ({"method": "Commit", "code": None}, "does nothing"),
        ({"method": "Commit", "times": 0}, "times must be at least 1, got 0"),
        ({"method": "Commit", "times": -3}, "times must be at least 1, got -3"),
        ({"method": "Commit", "times": 1.5}, "times must be a whole number, got 1.5"),
        ({"method": "Commit", "delay": -0.1}, "delay must be a number of seconds, 0 or more, got -0.1"),
        ({"method": "Commit", "delay": "1"}, "delay must be a number, got '1'"),
        ({"method": "Commit", "after_apply": 1}, "after_apply must be true or false, got 1"),
        ({"method": "Commit", "drop_after_rows": 1}, "Commit is no stream of rows"),
        ({"method": "Commit", "code": None, "split_values": 1}, "Commit is no stream of rows"),
        ({"method": "BatchWrite", "code": None, "resume_tokens": False}, "BatchWrite is no stream of rows"),
        ({"method": "GetSession", "match": "x"}, "GetSession has no text for match"),
        ({"method": "StreamingRead", "drop_after_rows": -1}, "drop_after_rows must be 0 or more, got -1"),
        ({"method": "StreamingRead", "drop_after_rows": 1, "code": None}, "needs the code"),
        ({"method": "StreamingRead", "drop_after_rows": 1, "after_apply": True}, "keeps all rows back"),
        (
            {"method": "StreamingRead", "split_values": 0, "code": None},
            "split_values must be at least 1, got 0",
        ),
        ({"method": "StreamingRead", "split_values": 1}, "pass code None"),
    ],
)
def test_faults_that_make_no_sense_are_refused(emulator: Emulator, fault: dict[str, Any], said: str) -> None:
    with pytest.raises(EmulatorError, match=re.escape(said)):
        emulator.inject(**fault)
    emulator.requests(reset=True)


def test_every_method_of_the_official_clients_is_known() -> None:
    known = method_names()
    assert known >= {"Commit", "UpdateDatabaseDdl", "CreateInstance", "GetOperation", "BatchWrite"}
    assert known >= ROW_STREAMS.union(MATCHED)
    assert known >= {method.rsplit("/", 1)[1] for method in (*UNARY, *STREAMING)}


def test_resume_tokens_are_withheld(database: Session, emulator: Emulator) -> None:
    database.send(1)
    transport = database.db.spanner_api.transport
    emulator.inject("ExecuteStreamingSql", code=None, resume_tokens=False)
    for enabled in (False, True):
        call = transport.execute_streaming_sql(database.request("SELECT Id FROM RECEIVE_q()"), timeout=10)
        assert bool(next(call).resume_token) is enabled
        call.cancel()


def test_reset_forgets_everything(database: Session, emulator: Emulator) -> None:
    emulator.advance(100)
    database.send(1)
    with database.receive() as received:
        assert received.next()[ID] == 1
    emulator.inject("Commit", code="INTERNAL", times=100)
    emulator.reset()
    assert emulator.leases() == []
    assert emulator._control("Advance", seconds=0) == {"offset": 0}
    database.send(2)
    with database.receive() as received:
        assert sorted(row[ID] for row in received.take(2)) == [1, 2]


def test_requests_are_counted(database: Session, emulator: Emulator) -> None:
    emulator.requests(reset=True)
    database.send(1, 2)
    counted = emulator.requests()
    assert (counted["ExecuteSql"], counted["Commit"]) == (2, 1)


def test_errors_of_the_official_emulator_arrive_unchanged(database: Session) -> None:
    with pytest.raises(GoogleAPICallError) as raised:
        database.query("SELECT nothing FROM nowhere")
    assert raised.value.code == 400
    assert "Table not found: nowhere" in raised.value.message
    assert not isinstance(raised.value, ServiceUnavailable)
