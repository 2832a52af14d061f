"""What is Spanner's alone in receiving: the path to a database, and tokens that it refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from google.api_core.exceptions import InvalidArgument

from sqlalchemy_spanner_queues import Receiver, SpannerQueuesError
from sqlalchemy_spanner_queues.receiver.spanner import SpannerTransport
from sqlalchemy_spanner_queues.receiver.transport import Renewal
from tests.conformance.engines import World
from tests.conformance.helpers import send_jobs, take_one
from tests.conformance.models import Job


def path_of(world: World) -> str:
    with world.engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        return str(driver.database.name)


def test_the_database_may_be_named_by_its_path(gateway: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANNER_EMULATOR_HOST", gateway.emulator.host)
    send_jobs(gateway, "a")
    with Receiver(gateway.engine, Job, spanner_database=path_of(gateway)) as receiver:
        assert take_one(receiver).key == "a"


def test_a_path_that_is_none_is_refused(gateway: World) -> None:
    with (
        Receiver(gateway.engine, Job, spanner_database="jobs") as receiver,
        pytest.raises(SpannerQueuesError, match="projects/"),
    ):
        next(iter(receiver))


def test_a_token_that_is_refused_does_not_take_the_others_with_it(
    gateway: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = SpannerTransport(gateway.engine, Job.__table__, None)
    asked: list[int] = []

    def renew(tokens: Sequence[str]) -> Mapping[str, Renewal]:
        asked.append(len(tokens))
        if "bad" in tokens:
            raise InvalidArgument("unreadable token")
        return {token: Renewal(token + "+", None) for token in tokens}

    monkeypatch.setattr(transport, "_renew", renew)
    tokens = [f"t{number}" for number in range(19)] + ["bad"]
    assert set(transport.renew(tokens)) == set(tokens) - {"bad"}
    assert len(asked) < 12
