"""The gateway's own controls: the clock, what is leased, what was asked, and what is refused."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator.errors import Refusal
from sqlalchemy_spanner_queues.emulator.serving.control import CONTROLS, answer
from sqlalchemy_spanner_queues.emulator.state import State
from sqlalchemy_spanner_queues.emulator.upstream.api import UpstreamApi
from sqlalchemy_spanner_queues.exc import EmulatorError
from tests.emulator.helpers import ID, TOKEN, Session


@pytest.mark.parametrize(
    ("control", "fields", "said"),
    [
        ("Advence", {}, "unknown control 'Advence': use one of Advance, Inject"),
        ("Advance", {}, "seconds is missing"),
        ("Advance", {"seconds": -1}, "the clock only moves forward, got -1"),
        ("Advance", {"seconds": "60"}, "seconds must be a number, got '60'"),
        ("Advance", {"seconds": True}, "seconds must be a number, got True"),
        ("Advance", {"seconds": 1e300}, "at most 100 years"),
        ("Advance", {"seconds": 10**400}, "seconds must be a number"),
        ("Advance", {"second": 1}, "unknown field 'second': use seconds"),
        ("Inject", {}, "method is missing"),
        ("Inject", {"method": 1}, "method must be a string, got 1"),
        ("Leases", {"database": 5}, "database must be a string, got 5"),
        ("Requests", {"reset": "yes"}, "reset must be true or false, got 'yes'"),
        ("Reset", {"all": True}, "unknown field 'all': use no fields here"),
    ],
)
def test_wrong_controls_are_refused(
    emulator: Emulator, control: str, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(EmulatorError, match=re.escape(said)):
        emulator._control(control, **fields)


async def served(name: str, values: dict[str, object], hear: list[str]) -> object:
    state = State(UpstreamApi("localhost:1"))

    async def work() -> None:
        await asyncio.sleep(0)
        hear.append(f"the clock is {state.clock.offset} s ahead")

    state.after_advance += [work, work]
    try:
        return await answer(state, name, values)
    finally:
        await state.api.close()


def test_work_after_a_move_of_the_clock_is_done_before_the_answer() -> None:
    heard: list[str] = []
    assert asyncio.run(served("Advance", {"seconds": 60}, heard)) == {"offset": 60.0}
    assert heard == ["the clock is 60.0 s ahead"] * 2


def test_nothing_is_done_when_the_clock_is_not_moved() -> None:
    heard: list[str] = []
    with pytest.raises(Refusal):
        asyncio.run(served("Advance", {"seconds": -60}, heard))
    assert heard == []


def test_controls_say_what_they_do_in_a_line() -> None:
    assert all(control.help and "\n" not in control.help for control in CONTROLS.values())


def test_leases_tell_who_holds_what(database: Session, emulator: Emulator) -> None:
    other = emulator.create_database()
    database.send(7)
    with database.receive() as received:
        row = received.next()
        (lease,) = emulator.leases()
        assert lease["holder"].startswith(("ipv4:127.0.0.1:", "ipv6:[::1]:"))
        assert 0 < lease["expires_in"] <= 10
        assert {name: lease[name] for name in ("database", "queue", "key", "token", "deliveries")} == {
            "database": database.path,
            "queue": "q",
            "key": ["7"],
            "token": row[TOKEN],
            "deliveries": 1,
        }
        assert emulator.leases(database.path)[0]["token"] == row[TOKEN]
        assert emulator.leases(other) == []
        emulator.advance(11)
        assert received.next()[ID] == 7
        assert [lease["deliveries"] for lease in emulator.leases()] == [2]
    emulator.advance(11)
    assert emulator.leases() == []


def test_requests_are_counted_by_method(database: Session, emulator: Emulator) -> None:
    emulator.requests(reset=True)
    database.send(1, 2)
    assert emulator.requests() == emulator.requests(reset=True)
    assert emulator.requests() == {}


def test_a_gateway_that_is_not_running_has_no_controls() -> None:
    stopped = Emulator()
    for use in (lambda: stopped.host, lambda: stopped.upstream, stopped.leases, lambda: stopped.advance(1)):
        with pytest.raises(EmulatorError, match="not running"):
            use()
