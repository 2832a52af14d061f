"""Faults that a test asks for, as the official client sees them."""

from __future__ import annotations

import time

import pytest
from google.api_core.exceptions import (
    DeadlineExceeded,
    GoogleAPICallError,
    InternalServerError,
    ServiceUnavailable,
)

from sqlalchemy_spanner_queues.emulator import Emulator
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
    emulator.inject("Commit", code="ABORTED")
    database.send(1)
    assert database.query("SELECT Id FROM q") == [[1]]


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


def test_a_delay(database: Session, emulator: Emulator) -> None:
    emulator.inject("ExecuteStreamingSql", code=None, delay=0.2)
    before = time.monotonic()
    assert database.query("SELECT 1") == [[1]]
    assert time.monotonic() - before >= 0.2


def test_resume_tokens_are_withheld(database: Session, emulator: Emulator) -> None:
    database.send(1)
    transport = database.db.spanner_api.transport
    for enabled in (False, True):
        emulator.resume_tokens(enabled)
        call = transport.execute_streaming_sql(database.request("SELECT Id FROM RECEIVE_q()"), timeout=10)
        assert bool(next(call).resume_token) is enabled
        call.cancel()


def test_reset_forgets_everything(database: Session, emulator: Emulator) -> None:
    database.send(1)
    with database.receive() as received:
        received.next()
        emulator.inject("Commit", code="INTERNAL", times=100)
        emulator.advance(100)
        emulator.reset()
        assert emulator.leases() == []
        database.send(2)
        assert sorted(row[ID] for row in received.take(2)) == [1, 2]


def test_requests_are_counted(database: Session, emulator: Emulator) -> None:
    emulator.requests(reset=True)
    database.send(1, 2)
    counted = emulator.requests()
    assert (counted["ExecuteSql"], counted["Commit"]) == (2, 1)


def test_wrong_controls_are_refused(emulator: Emulator) -> None:
    with pytest.raises(EmulatorError, match="NO_SUCH_CODE"):
        emulator.inject("Commit", code="NO_SUCH_CODE")
    with pytest.raises(EmulatorError, match="forward"):
        emulator.advance(-1)


def test_errors_of_the_official_emulator_arrive_unchanged(database: Session) -> None:
    with pytest.raises(GoogleAPICallError) as raised:
        database.query("SELECT nothing FROM nowhere")
    assert raised.value.code == 400
    assert "Table not found: nowhere" in raised.value.message
    assert not isinstance(raised.value, ServiceUnavailable)
