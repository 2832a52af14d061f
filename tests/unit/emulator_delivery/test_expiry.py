"""Leases that ran out: their messages are gone, or due again."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from sqlalchemy_spanner_queues.emulator.delivery.clock import Clock
from sqlalchemy_spanner_queues.emulator.delivery.expiry import RETRY_SECONDS, Expiry
from sqlalchemy_spanner_queues.emulator.delivery.leases import Lease, Leases
from sqlalchemy_spanner_queues.emulator.transport import RpcError


class Asked:
    """Answers what exists, and keeps what it was asked and what came of it."""

    def __init__(self, *existing: bytes, fails: bool = False) -> None:
        self.questions: list[list[bytes]] = []
        self.outcomes: list[bool] = []
        self._existing = set(existing)
        self._fails = fails

    async def existing(self, leases: list[Lease]) -> set[bytes]:
        self.questions.append([lease.message_id for lease in leases])
        if self._fails:
            raise RpcError(grpc.StatusCode.NOT_FOUND, "Table not found")
        return self._existing


def leases_of(*names: bytes) -> Leases:
    leases = Leases()
    for name in names:
        leases.grant(name, 0.0, "me")
    return leases


def settle(leases: Leases, asked: Asked, now: float) -> None:
    async def run() -> None:
        expiry = Expiry(leases, Clock(lambda: now), asked.existing, asked.outcomes.append)
        expiry.start()
        expiry.start()
        while expiry.running:
            await asyncio.sleep(0)

    asyncio.run(run())


def test_a_message_that_is_gone_is_forgotten() -> None:
    leases, asked = leases_of(b"here", b"gone"), Asked(b"here")
    settle(leases, asked, 10.0)
    assert ([lease.message_id for lease in leases], asked.outcomes) == ([b"here"], [True])
    assert len(asked.questions) == 1


def test_a_message_that_is_not_due_yet_is_asked_about_again() -> None:
    leases = leases_of(b"m")
    leases.grant(b"m", 10.0, "me")
    asked = Asked(b"m")
    settle(leases, asked, 20.0)
    assert (asked.outcomes, leases.next_check()) == ([False], 21.0)


def test_nothing_is_asked_while_no_lease_ran_out() -> None:
    leases, asked = leases_of(b"m"), Asked()
    settle(leases, asked, 9.9)
    assert (asked.questions, asked.outcomes) == ([], [])


def test_a_question_that_fails_is_asked_again_later() -> None:
    leases, asked = leases_of(b"m"), Asked(fails=True)
    settle(leases, asked, 10.0)
    assert ([lease.message_id for lease in leases], asked.outcomes) == ([b"m"], [False])
    assert leases.next_check() == pytest.approx(10.0 + RETRY_SECONDS)


def test_it_can_be_stopped() -> None:
    async def run() -> bool:
        async def never(leases: list[Lease]) -> set[bytes]:
            await asyncio.Event().wait()
            return set()

        expiry = Expiry(leases_of(b"m"), Clock(lambda: 10.0), never, lambda due: None)
        expiry.cancel()
        expiry.start()
        await asyncio.sleep(0)
        assert expiry.running
        expiry.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return expiry.running

    assert asyncio.run(run()) is False
