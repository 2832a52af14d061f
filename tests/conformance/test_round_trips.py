"""Requests on the wire are counted: what is done in bulk costs one request, whatever the number."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Receiver, acknowledge, send_many
from tests.conformance.engines import World
from tests.conformance.helpers import count, send, send_jobs, take_batch
from tests.conformance.models import Job, User, Welcome, WelcomeEmail

LATER = datetime(2040, 1, 1, tzinfo=UTC)
WELCOME = Welcome("hi", "a@example.com")


def requests(world: World, work: Callable[[Session], object]) -> int:
    """Return how many requests a transaction costs, made by a session whose connection is warm."""
    send(world, User(user_id=1000))
    with Session(world.engine) as session, session.begin():
        session.delete(session.get_one(User, 1000))
    world.emulator.requests(reset=True)
    with Session(world.engine) as session, session.begin():
        work(session)
    return sum(world.emulator.requests().values())


def with_user(user_id: int, *messages: Any) -> Callable[[Session], object]:
    return lambda session: session.add_all([User(user_id=user_id), *messages])


def keyed(number: int) -> list[Any]:
    return [Job(key=f"j{n}", payload=b"x") for n in range(number)]


def made_up(number: int) -> list[Any]:
    return [WelcomeEmail(user_id=1, payload=WELCOME) for _ in range(number)]


def dated(number: int) -> list[Any]:
    ways: list[dict[str, Any]] = [{}, {"delay": timedelta(minutes=5)}, {"deliver_at": LATER}]
    return [WelcomeEmail(user_id=1, payload=WELCOME, **ways[n % 3]) for n in range(number)]


def dated_and_keyed(number: int) -> list[Any]:
    ways: list[dict[str, Any]] = [{"delay": timedelta(minutes=5)}, {}, {"deliver_at": LATER}]
    return [Job(key=f"j{n}", payload=b"x", **ways[n % 3]) for n in range(number)]


def keys_given_and_made_up(number: int) -> list[Any]:
    given = [{}, {"message_id": "given-"}]
    return [
        WelcomeEmail(
            user_id=1, payload=WELCOME, **{key: f"{value}{n}" for key, value in given[n % 2].items()}
        )
        for n in range(number)
    ]


MESSAGES = [keyed, made_up, dated, dated_and_keyed, keys_given_and_made_up]


@pytest.mark.parametrize("number", [1, 5, 50])
@pytest.mark.parametrize("make", MESSAGES, ids=lambda make: make.__name__)
def test_sending_any_number_of_messages_costs_at_most_one_more_request(
    gateway: World, make: Callable[[int], list[Any]], number: int
) -> None:
    without = requests(gateway, with_user(2))
    messages = make(number)
    assert requests(gateway, with_user(1, *messages)) <= without + 1
    assert count(gateway, type(messages[0])) == number


def test_send_many_costs_one_more_request(gateway: World) -> None:
    without = requests(gateway, with_user(2))

    def work(session: Session) -> None:
        session.add(User(user_id=1))
        send_many(session, keyed(50))

    assert requests(gateway, work) <= without + 1


@pytest.mark.parametrize("number", [1, 50])
def test_acknowledging_a_batch_costs_at_most_one_more_request(gateway: World, number: int) -> None:
    send_jobs(gateway, *(f"j{n:02}" for n in range(number)))
    without = requests(gateway, with_user(2))
    with Receiver(gateway.engine, Job, max_batch_size=50) as receiver:
        batch = take_batch(receiver)
        assert len(batch) == number

    def work(session: Session) -> None:
        session.add(User(user_id=1))
        acknowledge(session, *batch)

    assert requests(gateway, work) <= without + 1
    assert count(gateway, Job) == 0


@pytest.mark.parametrize("number", [1, 50])
def test_renewing_any_number_of_leases_costs_one_request(gateway: World, number: int) -> None:
    send_jobs(gateway, *(f"j{n:02}" for n in range(number)))
    with Receiver(gateway.engine, Job, max_batch_size=50) as receiver:
        batch = take_batch(receiver)
        assert len(batch) == number
        keeper = receiver._keeper
        assert keeper is not None
        assert keeper.beat()  # its session is made
        gateway.emulator.requests(reset=True)
        for _ in range(3):
            assert keeper.beat()
        assert gateway.emulator.requests() == {"ExecuteStreamingSql": 3}
        assert not any(job.lease.lost.is_set() for job in batch)


def test_a_silent_receiver_costs_no_requests(gateway: World) -> None:
    send_jobs(gateway, "a")
    with Receiver(gateway.engine, Job) as receiver:
        take_batch(receiver)
        gateway.emulator.requests(reset=True)
        for _ in range(20):
            gateway.advance(60)
        assert gateway.emulator.requests().get("ExecuteStreamingSql", 0) <= 1
