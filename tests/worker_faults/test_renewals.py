"""Renewals that fail, hang, come late or are refused while handlers run."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.message import mark_renewed
from sqlalchemy_spanner_queues.receiver import spanner
from tests.conformance.helpers import Running
from tests.worker_faults.effects import assert_effects
from tests.worker_faults.ground import RENEW, STREAM, Ground, note
from tests.worker_faults.models import Task
from tests.worker_faults.running import TIMEOUT_SECONDS, RunningWorker, running, until

LATE_SECONDS = 1.0


class Held:
    """A worker whose handlers write their row when ``release`` is called."""

    def __init__(self, ground: Ground, **options: int) -> None:
        self.worker = ground.worker(**options)
        self.tasks: dict[int, Task] = {}
        self._may_end = threading.Event()

        @self.worker.handler(Task, mode="outside")
        def work(task: Task) -> None:
            self.tasks[task.id] = task
            assert self._may_end.wait(TIMEOUT_SECONDS * 2)
            with Session(ground.engine) as session, session.begin():
                task.lease.raise_if_lost()
                note(session, task)

    def release(self) -> None:
        self._may_end.set()


def wait_for_renewals(ground: Ground, ids: Collection[int], times: int = 3) -> None:
    """Wait until each of these leases has been renewed so often from now on."""
    tokens: dict[int, set[str]] = defaultdict(set)

    def were_renewed() -> bool:
        for id, lease in ground.leases().items():
            tokens[id].add(lease["token"])
        return all(len(tokens[id]) > times for id in ids)

    until(were_renewed)


def assert_kept(run: RunningWorker, held: Held, ids: list[int]) -> None:
    """Let the handlers end: each started once, and no lease was lost."""
    held.release()
    run.wait_for("message.succeeded", times=len(ids))
    assert run.ids("message.started") == run.ids("message.succeeded") == sorted(ids)
    assert run.told("lease.lost") == []


@pytest.mark.usefixtures("quick_beats")
@pytest.mark.parametrize(
    "code", ["UNAVAILABLE", "INTERNAL", "UNKNOWN", "DEADLINE_EXCEEDED", "ABORTED", "RESOURCE_EXHAUSTED"]
)
def test_failing(ground: Ground, code: str) -> None:
    held, ids = Held(ground), [1, 2, 3]
    ground.send(*ids)
    with running(held.worker) as run:
        until(lambda: len(held.tasks) == 3)
        ground.emulator.inject(STREAM, code=code, times=3, match=RENEW)
        wait_for_renewals(ground, ids)
        assert_kept(run, held, ids)
    assert_effects(ground, done=ids)


@pytest.mark.usefixtures("quick_beats")
def test_hanging(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spanner, "RENEW_TIMEOUT_SECONDS", 0.2)
    held, ids = Held(ground), [1, 2, 3]
    ground.send(*ids)
    with running(held.worker) as run:
        until(lambda: len(held.tasks) == 3)
        ground.emulator.inject(STREAM, code=None, delay=30.0, times=2, match=RENEW)
        wait_for_renewals(ground, ids)
        assert_kept(run, held, ids)
    assert_effects(ground, done=ids)


@pytest.mark.usefixtures("quick_beats")
def test_hanging_while_the_worker_stops(ground: Ground) -> None:
    held = Held(ground)
    ground.send(1)
    with running(held.worker) as run:
        until(lambda: len(held.tasks) == 1)
        ground.count_requests()
        ground.emulator.inject(STREAM, code=None, delay=30.0, match=RENEW)
        until(lambda: ground.requests(STREAM) > 0)
        held.release()
        run.stop()
        assert run.ended(2.0)
    assert_effects(ground, done=[1])


@pytest.mark.usefixtures("quick_beats")
@pytest.mark.parametrize("is_refused", [False, True], ids=["unknown", "refused"])
def test_one_poisoned_token_among_20(ground: Ground, is_refused: bool) -> None:
    """A token that Spanner does not know, or does not even read, is lost alone."""
    held, ids = Held(ground, concurrency=20), list(range(1, 21))
    others = [id for id in ids if id != 7]
    ground.send(*ids)
    with running(held.worker) as run:
        until(lambda: len(held.tasks) == 20)
        lease = held.tasks[7].lease
        mark_renewed(lease, "poison", lease.expires_at)
        if is_refused:
            ground.emulator.inject(STREAM, code="INVALID_ARGUMENT", times=2, match=RENEW)
        run.wait_for("lease.lost", 7)
        wait_for_renewals(ground, others)
        held.release()
        run.wait_for("message.succeeded", times=19)
        assert run.ids("message.succeeded") == others
        assert run.ids("lease.lost") == [7]
    assert_effects(ground, done=others, waiting=[7])


@pytest.mark.usefixtures("no_beats")
def test_late_is_not_lost(ground: Ground) -> None:
    """Nobody renewed for 9 seconds: the next renewal is as good as any."""
    held = Held(ground)
    ground.send(1)
    with running(held.worker) as run:
        until(lambda: len(held.tasks) == 1)
        for _ in range(3):
            ground.advance(9)
            assert run.keeper.beat()
        assert_kept(run, held, [1])
    assert_effects(ground, done=[1])


@pytest.mark.usefixtures("no_beats")
@pytest.mark.parametrize("after_apply", [False, True], ids=["no row", "a dead token"])
def test_late_answer_of_an_older_renewal(
    ground: Ground, after_apply: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message was delivered here again meanwhile: the newer token stays."""
    held, asked = Held(ground), threading.Event()
    ground.send(1)
    with running(held.worker) as run:
        until(lambda: len(held.tasks) == 1)
        old = held.tasks[1].lease.token
        ground.emulator.inject(STREAM, code=None, delay=LATE_SECONDS, after_apply=after_apply, match=RENEW)
        transport = run.keeper._transport
        renew = transport.renew

        def ask(tokens: Sequence[Any]) -> Any:
            asked.set()
            return renew(tokens)

        monkeypatch.setattr(transport, "renew", ask)
        beat = Running(run.keeper.beat)
        assert asked.wait(TIMEOUT_SECONDS)
        if after_apply:
            until(lambda: ground.leases()[1]["token"] != old)
        ground.advance(11)
        run.wait_for("message.redelivered", 1)
        assert not beat.ended(0)
        assert beat.result()
        assert held.tasks[1].lease.token == ground.leases()[1]["token"]
        assert run.keeper.beat()
        assert_kept(run, held, [1])
    assert_effects(ground, done=[1])
