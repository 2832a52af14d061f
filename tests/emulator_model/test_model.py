"""The gateway keeps the documented rules whatever its clients do, in both dialects."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from sqlalchemy_spanner_queues.emulator import find_emulator
from sqlalchemy_spanner_queues.emulator.upstream.find import choose_emulator
from sqlalchemy_spanner_queues.emulator.upstream.process import UpstreamProcess
from tests.emulator.words import GOOGLESQL, POSTGRESQL, Words
from tests.emulator_fixture import NO_EMULATOR
from tests.emulator_model.driver import Driver
from tests.emulator_model.facts import Remove, Send
from tests.emulator_model.machine import QueueMachine
from tests.emulator_model.world import World
from tests.engines import ENGINES

STEPS = 2_000
VARIABLE = "SPANNER_QUEUES_MODEL_STEPS"
"""Set it to a number of steps for a longer run, which goes another way each time."""

STEPS_OF_AN_EXAMPLE = 50
MOST_EXAMPLES = 20
"""Hypothesis begins anew after so many, because it likes to vary what it did before."""

_START_SECONDS = 30.0


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    """An official emulator that outlives the gateways in front of it."""
    if find_emulator() is None:
        pytest.skip(NO_EMULATOR)
    process = UpstreamProcess(choose_emulator(), _START_SECONDS)
    ENGINES.append("gateways that crash before an official Spanner emulator")
    yield process.address
    process.stop()


@pytest.fixture(params=[GOOGLESQL, POSTGRESQL], ids=lambda words: str(words.name))
def world(upstream: str, request: pytest.FixtureRequest) -> Iterator[World]:
    words: Words = request.param
    world = World(words, upstream)
    yield world
    world.stop()


SETTINGS = settings(
    stateful_step_count=STEPS_OF_AN_EXAMPLE,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.timeout(3_600)
def test_the_gateway_and_the_model_agree(world: World) -> None:
    wanted = int(os.environ.get(VARIABLE, STEPS))
    first = secrets.randbits(32) if VARIABLE in os.environ else 0
    QueueMachine.steps = 0
    for number in itertools.count(first):
        examples = min(MOST_EXAMPLES, -(-(wanted - QueueMachine.steps) // STEPS_OF_AN_EXAMPLE))
        if examples <= 0:
            break
        machine = seed(number)(lambda: QueueMachine(world))
        run_state_machine_as_test(machine, settings=settings(SETTINGS, max_examples=examples))
    assert QueueMachine.steps >= wanted


@pytest.mark.timeout(3_600)
def test_nothing_is_lost_when_the_gateway_crashes(world: World) -> None:
    driver = Driver(world)
    driver.transact([Send(1), Send(2), Send(3, 3_600)])
    driver.open(0, 20, 60)
    driver.check()
    driver.transact([Remove(1, "OUT_OF_RANGE")])
    driver.crash([Send(4)])
    driver.check()
    driver.receive(0, 20)
    driver.check()


def test_a_transaction_whose_client_vanished_is_rolled_back(world: World) -> None:
    driver = Driver(world)
    driver.transact([Send(1)])
    driver.vanish([Remove(1), Send(2)])
    driver.check()
