"""Renewals of leases that fail, that land unheard, and that come too late."""

from __future__ import annotations

from typing import Any

import pytest

from sqlalchemy_spanner_queues import Receiver
from sqlalchemy_spanner_queues.receiver import keeper
from tests.conformance.helpers import Running, keeper_of, take_one
from tests.emulator.words import IN_BOTH_DIALECTS
from tests.emulator_faults.models import Done, Message
from tests.emulator_faults.promises import LEASE_SECONDS, Scene, assert_promises, until

STREAM = "ExecuteStreamingSql"


def match(scene: Scene) -> str:
    """Return what the SQL of RENEWLEASE contains."""
    return scene.words.renew("").split("(")[0]


@pytest.mark.parametrize("code", ["INTERNAL", "DEADLINE_EXCEEDED"])
@IN_BOTH_DIALECTS
def test_renewal_fails(scene: Scene, code: str) -> None:
    """`ExecuteStreamingSql` of RENEWLEASE ends in INTERNAL or DEADLINE_EXCEEDED before it is applied.

    client: InternalServerError or DeadlineExceeded; 1 ExecuteStreamingSql
    queue: the message, leased under the token that the client knows, which it renews the next time
    receiver: nothing while the lease is renewed, the message after it
    """
    scene.send(1)
    token = scene.receiver_gets(1)[1]
    scene.emulator.inject(STREAM, code=code, match=match(scene))
    scene.client_sees(scene.session.renew, token)
    scene.emulator.advance(LEASE_SECONDS - 1)
    assert scene.session.renew(token)[token] is not None
    scene.emulator.advance(LEASE_SECONDS - 1)
    scene.receiver_gets()
    scene.emulator.advance(1)
    scene.receiver_gets(1)
    assert_promises(scene)


@IN_BOTH_DIALECTS
def test_renewal_lands_unheard(scene: Scene) -> None:
    """`ExecuteStreamingSql` of RENEWLEASE is applied and ends in UNAVAILABLE.

    client: no error; 2 ExecuteStreamingSql
    queue: the message, leased under a token that nobody knows
    receiver: no row for the renewed token, which is dead; the message again after its renewed lease
    """
    scene.send(1)
    token = scene.receiver_gets(1)[1]
    scene.emulator.advance(LEASE_SECONDS - 1)
    scene.emulator.inject(STREAM, after_apply=True, match=match(scene))
    assert scene.client_sees(scene.session.renew, token) == {}
    scene.emulator.advance(LEASE_SECONDS - 1)
    scene.receiver_gets()
    scene.emulator.advance(1)
    scene.receiver_gets(1)
    assert_promises(scene)


@IN_BOTH_DIALECTS
def test_renewal_comes_too_late(scene: Scene) -> None:
    """`ExecuteStreamingSql` of RENEWLEASE is held up until the lease is over.

    client: no error; 1 ExecuteStreamingSql
    queue: the message
    receiver: no row for the renewed token; the message again at once
    """
    scene.send(1)
    token = scene.receiver_gets(1)[1]
    scene.emulator.inject(STREAM, code=None, delay=1.0, match=match(scene))
    assert scene.client_sees(renew_slowly, scene, token) == {}
    scene.receiver_gets(1)
    assert_promises(scene)


def renew_slowly(scene: Scene, token: str) -> Any:
    """Renew a lease that runs out while the request is held up."""
    renewing = Running(lambda: scene.session.renew(token))
    until(lambda: scene.emulator.requests().get(STREAM) == 1)
    scene.emulator.advance(LEASE_SECONDS)
    return renewing.result()


@pytest.fixture
def beats_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let leases be renewed when the test says so."""
    monkeypatch.setattr(keeper, "BEAT_SECONDS", 3600.0)


@pytest.mark.usefixtures("beats_by_hand")
def test_receiver_hears_no_renewal(mapped: Scene) -> None:
    """The same under this package's `Receiver`, whose lease keeper renews by itself.

    client: LeaseLost; 2 ExecuteStreamingSql
    queue: the message: nothing of the work is committed
    receiver: the message again after its renewed lease
    """
    mapped.send(1)
    with Receiver(mapped.engine, Message, max_batch_size=1) as receiver:
        message = take_one(receiver)
        mapped.emulator.inject(STREAM, after_apply=True, match="RENEWLEASE_")
        mapped.client_sees(work_through_two_beats, mapped, receiver, message)
        assert message.lease.lost.is_set()
    mapped.queue_holds(1)
    mapped.emulator.advance(LEASE_SECONDS)
    mapped.receiver_gets(1)
    assert_promises(mapped)


def work_through_two_beats(mapped: Scene, receiver: Receiver[Message], message: Message) -> None:
    """Work on a message while its lease is renewed twice; the first time nothing is heard of it."""
    with receiver.processing(message) as session:
        session.add(Done(id=message.id, attempt="first"))
        assert not keeper_of(receiver).beat()
        assert keeper_of(receiver).beat()
