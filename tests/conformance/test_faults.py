"""What fails on the way to Spanner is tried again, or raised; nothing is lost and nothing is done twice."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from google.api_core.exceptions import GoogleAPICallError, PermissionDenied
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import (
    CommitOutcomeUnknown,
    LeaseLost,
    MessageAlreadyAcknowledged,
    Receiver,
    acknowledge,
)
from tests.conformance.engines import World
from tests.conformance.helpers import (
    Running,
    arrivals,
    arriving_keys,
    count,
    keys,
    send,
    send_jobs,
    take,
    take_one,
    working_receiver,
)
from tests.conformance.models import Job, User

RECEIVE = "RECEIVE_"
RENEW = "RENEWLEASE_"


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_stream_that_breaks_is_opened_again_and_nothing_is_lost_or_done_twice(
    gateway: World, rows: int
) -> None:
    send_jobs(gateway, *"abcdef")
    gateway.emulator.inject("ExecuteStreamingSql", drop_after_rows=rows, match=RECEIVE)
    with Receiver(gateway.engine, Job) as receiver:

        def work() -> None:
            for message in receiver:
                with suppress(LeaseLost, MessageAlreadyAcknowledged), receiver.processing(message) as session:
                    session.add(User(user_id=ord(message.key)))

        working = Running(work)
        for _ in range(50):
            if working.ended(0.2) or count(gateway, Job) == 0:
                break
            gateway.advance(10)  # the leases of the batch that broke
        receiver.stop()
        working.result()
    assert [count(gateway, model) for model in (User, Job)] == [6, 0]


@pytest.mark.parametrize(
    "code", ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL", "ABORTED", "DEADLINE_EXCEEDED"]
)
def test_a_stream_that_cannot_be_opened_for_a_while_is_tried_again_with_pauses(
    gateway: World, code: str
) -> None:
    send_jobs(gateway, "a")
    gateway.emulator.inject("ExecuteStreamingSql", code=code, times=3, match=RECEIVE)
    gateway.emulator.requests(reset=True)
    started = time.monotonic()
    with Receiver(gateway.engine, Job) as receiver:
        assert take_one(receiver).key == "a"
    # Three pauses of at least half of 0.2, 0.4 and 0.8 seconds.
    assert time.monotonic() - started > 0.65
    assert gateway.emulator.requests()["ExecuteStreamingSql"] == 4


def test_stop_does_not_wait_for_the_pause_between_attempts(gateway: World) -> None:
    gateway.emulator.inject("ExecuteStreamingSql", times=1000, match=RECEIVE)
    with Receiver(gateway.engine, Job) as receiver:
        waiting = Running(lambda: list(receiver))
        assert not waiting.ended(1.5)
        receiver.stop()
        assert waiting.result(2.0) == []


@pytest.mark.parametrize(
    "code", ["PERMISSION_DENIED", "INVALID_ARGUMENT", "UNAUTHENTICATED", "FAILED_PRECONDITION"]
)
def test_a_lasting_error_is_raised_to_the_loop(gateway: World, code: str) -> None:
    gateway.emulator.inject("ExecuteStreamingSql", code=code, times=1000, match=RECEIVE)
    gateway.emulator.requests(reset=True)
    with (
        Receiver(gateway.engine, Job) as receiver,
        pytest.raises(GoogleAPICallError, match="injected") as raised,
    ):
        take_one(receiver)
    assert isinstance(raised.value, PermissionDenied) == (code == "PERMISSION_DENIED")
    assert gateway.emulator.requests()["ExecuteStreamingSql"] == 1


def test_a_lasting_error_in_mid_stream_is_raised_after_the_rows_before_it(gateway: World) -> None:
    send_jobs(gateway, "a", "b")
    gateway.emulator.inject("ExecuteStreamingSql", code="PERMISSION_DENIED", drop_after_rows=1, match=RECEIVE)
    with Receiver(gateway.engine, Job) as receiver:
        assert keys(take(receiver)) == ["a"]
        with pytest.raises(PermissionDenied):
            take_one(receiver)


UNKNOWN_CODES = ["UNKNOWN", "DEADLINE_EXCEEDED", "CANCELLED"]


def process(gateway: World, receiver: Receiver[Job], user_id: int) -> None:
    with receiver.processing(take_one(receiver)) as session:
        session.add(User(user_id=user_id))


@pytest.mark.parametrize("code", UNKNOWN_CODES)
def test_a_commit_that_landed_unheard_is_an_unknown_outcome_and_the_message_is_gone(
    gateway: World, code: str
) -> None:
    send_jobs(gateway, "a")
    with Receiver(gateway.engine, Job) as receiver:
        gateway.emulator.inject("Commit", code=code, after_apply=True)
        with pytest.raises(CommitOutcomeUnknown) as raised:
            process(gateway, receiver, 1)
        assert list(raised.value.keys.values()) == ["a"]
    gateway.advance(11)
    assert arriving_keys(gateway) == []
    assert [count(gateway, model) for model in (User, Job)] == [1, 0]


@pytest.mark.parametrize("code", UNKNOWN_CODES)
def test_a_commit_that_did_not_land_is_an_unknown_outcome_and_the_message_comes_back(
    gateway: World, code: str
) -> None:
    send_jobs(gateway, "a")
    with Receiver(gateway.engine, Job) as receiver:
        gateway.emulator.inject("Commit", code=code)
        with pytest.raises(CommitOutcomeUnknown):
            process(gateway, receiver, 1)
        assert count(gateway, User) == 0
        gateway.advance(11)
        process(gateway, receiver, 1)
    assert [count(gateway, model) for model in (User, Job)] == [1, 0]


@pytest.mark.parametrize("after_apply", [False, True])
def test_a_commit_without_a_connection_is_repeated_by_the_client_and_applied_once(
    gateway: World, after_apply: bool
) -> None:
    # Google's client repeats a commit that ends in UNAVAILABLE; with the transaction's id it is safe.
    send_jobs(gateway, "a")
    with Receiver(gateway.engine, Job) as receiver:
        gateway.emulator.inject("Commit", code="UNAVAILABLE", after_apply=after_apply)
        process(gateway, receiver, 1)
    assert [count(gateway, model) for model in (User, Job)] == [1, 0]


def test_repeating_the_work_of_an_unknown_outcome_by_hand_is_safe(gateway: World) -> None:
    send_jobs(gateway, "a")
    with Receiver(gateway.engine, Job) as receiver:
        message = take_one(receiver)
        gateway.emulator.inject("Commit", code="UNKNOWN", after_apply=True)
        with pytest.raises(CommitOutcomeUnknown), receiver.processing(message) as session:
            session.add(User(user_id=1))
        with Session(gateway.engine) as session:
            session.add(User(user_id=2))
            acknowledge(session, message)
            with pytest.raises(MessageAlreadyAcknowledged):
                session.commit()
    assert [count(gateway, model) for model in (User, Job)] == [1, 0]


def test_an_aborted_commit_is_repeated_and_applied_once(gateway: World) -> None:
    send_jobs(gateway, "a")
    with Receiver(gateway.engine, Job) as receiver:
        gateway.emulator.inject("Commit", code="ABORTED")
        process(gateway, receiver, 1)
    assert [count(gateway, model) for model in (User, Job)] == [1, 0]


def test_sending_survives_an_aborted_commit(gateway: World) -> None:
    gateway.emulator.inject("Commit", code="ABORTED")
    send(gateway, User(user_id=1), Job(key="a", payload=b"x"), Job(key="b", payload=b"y"))
    assert [count(gateway, model) for model in (User, Job)] == [1, 2]


@pytest.mark.parametrize("code", ["UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED"])
def test_a_renewal_that_fails_once_loses_nothing(gateway: World, code: str) -> None:
    send_jobs(gateway, "a")
    with working_receiver(gateway) as receiver:
        message = take_one(receiver)
        keeper = receiver._keeper
        assert keeper is not None
        gateway.emulator.inject("ExecuteStreamingSql", code=code, match=RENEW)
        gateway.advance(4)
        assert not keeper.beat()
        assert not message.lease.lost.is_set()
        gateway.advance(4)
        assert keeper.beat()
        gateway.advance(4)
        assert arriving_keys(gateway) == []
        with receiver.processing(message):
            pass


def test_a_renewal_whose_answer_is_lost_loses_the_lease_and_says_so(gateway: World) -> None:
    # The database has changed the token, and nobody knows the new one: the old one is unknown from then on.
    send_jobs(gateway, "a")
    with Receiver(gateway.engine, Job) as receiver:
        message = take_one(receiver)
        keeper = receiver._keeper
        assert keeper is not None
        gateway.emulator.inject("ExecuteStreamingSql", after_apply=True, match=RENEW)
        assert not keeper.beat()
        assert keeper.beat()
        assert message.lease.lost.is_set()


def test_the_first_row_is_prompt_without_resume_tokens(gateway: World) -> None:
    gateway.emulator.inject("ExecuteStreamingSql", code=None, resume_tokens=False, times=1000, match=RECEIVE)
    with Receiver(gateway.engine, Job) as receiver:
        assert arrivals(gateway, receiver) == []
        waiting = Running(lambda: take_one(receiver))
        send_jobs(gateway, "a")
        assert waiting.result(2.0).key == "a"


def test_a_slow_answer_to_receive_does_not_delay_stop(gateway: World) -> None:
    gateway.emulator.inject("ExecuteStreamingSql", code=None, delay=5.0, match=RECEIVE)
    with Receiver(gateway.engine, Job) as receiver:
        waiting = Running(lambda: list(receiver))
        assert not waiting.ended(0.3)
        receiver.stop()
        assert waiting.result(2.0) == []
