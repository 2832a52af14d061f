"""The delivery clock, the texts of timestamps, and how long a redelivery waits."""

from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues._delivery import redelivery_delay
from sqlalchemy_spanner_queues.emulator.delivery.clock import Clock, format_timestamp, parse_timestamp


def test_the_clock_only_moves_forward() -> None:
    clock = Clock(lambda: 100.0)
    told: list[float] = []
    clock.on_move(lambda: told.append(clock.now()))
    clock.advance(5)
    clock.advance(0.5)
    clock.advance(0)
    assert (clock.now(), told) == (105.5, [105.0, 105.5, 105.5])
    with pytest.raises(ValueError, match="forward"):
        clock.advance(-1)
    clock.reset()
    assert (clock.now(), told[-1]) == (100.0, 100.0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T00:00:01Z", 1.0),
        ("1970-01-01T00:00:01.5Z", 1.5),
        ("2026-01-31T12:00:00.123456789Z", 1769860800.123456789),
        ("0001-01-01T00:00:00Z", -62135596800.0),
        ("9999-12-31T23:59:59.999999Z", 253402300799.999999),
    ],
)
def test_timestamps(text: str, seconds: float) -> None:
    assert parse_timestamp(text) == pytest.approx(seconds, abs=1e-6)
    if 0 <= seconds < 1e11:
        assert parse_timestamp(format_timestamp(seconds)) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize("text", ["", "Z", "soon", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00.xZ"])
def test_what_is_no_timestamp(text: str) -> None:
    with pytest.raises(ValueError):
        parse_timestamp(text)


def test_redelivery_backs_off_and_then_goes_hourly() -> None:
    assert [redelivery_delay(n, 60) for n in range(1, 7)] == [0, 1, 2, 4, 8, 16]
    assert redelivery_delay(12, 3000) == 600
    assert redelivery_delay(1_000_000, 3600) == 600
    assert redelivery_delay(13, 3600.1) == 3600
    with pytest.raises(ValueError, match="at least 1"):
        redelivery_delay(0, 0)
