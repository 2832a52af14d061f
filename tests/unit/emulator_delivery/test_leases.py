"""Leases of one queue, in memory."""

from __future__ import annotations

import pytest
from google.protobuf.struct_pb2 import Value

from sqlalchemy_spanner_queues._delivery import LEASE_SECONDS
from sqlalchemy_spanner_queues.emulator.delivery.identity import identity_of
from sqlalchemy_spanner_queues.emulator.delivery.leases import RECHECK_SECONDS, Event, Lease, Leases

MANY = 10_000


@pytest.fixture
def told() -> list[Event]:
    return []


@pytest.fixture
def leases(told: list[Event]) -> Leases:
    return Leases(lambda event, _: told.append(event))


def test_a_lease_is_exclusive_and_runs_out(leases: Leases) -> None:
    lease = leases.grant(b"m", 100.0, "me")
    assert (lease.expires, lease.deliveries, lease.holder) == (100.0 + LEASE_SECONDS, 1, "me")
    assert not leases.available(b"m", 109.9)
    assert leases.available(b"m", 110.0)
    assert leases.available(b"other", 100.0)
    assert (leases.unavailable(109.9), leases.unavailable(110.0)) == (1, 0)


def test_a_lease_knows_its_key(leases: Leases) -> None:
    key, time = Value(string_value="1"), Value(string_value="2026-01-31T12:00:00Z")
    assert list(leases.grant(identity_of([key, time]), 0.0, "me").key.values) == [key]


def test_renewing_rotates_the_token(leases: Leases) -> None:
    old = leases.grant(b"m", 100.0, "me").token
    renewed = leases.renew(old, 105.0)
    assert renewed is not None
    assert (renewed.expires, renewed.token != old, renewed.deliveries) == (115.0, True, 1)
    assert leases.renew(old, 105.0) is None
    assert leases.running(old, 105.0) is None
    assert leases.running(renewed.token, 114.9) is renewed
    assert leases.running(renewed.token, 115.0) is None
    assert leases.renew(renewed.token, 115.0) is None
    assert leases.renew("nonsense", 105.0) is None


def test_a_new_lease_ends_the_old_token(leases: Leases) -> None:
    old = leases.grant(b"m", 0.0, "me").token
    new = leases.grant(b"m", 10.0, "you").token
    assert leases.renew(old, 11.0) is None
    assert leases.renew(new, 11.0) is not None


def test_redeliveries_wait_longer_each_time(leases: Leases) -> None:
    now, waits = 0.0, list[float]()
    for _ in range(5):
        lease = leases.grant(b"m", now, "me")
        waits.append(lease.available - lease.expires)
        now = lease.available
    assert waits == [0, 1, 2, 4, 8]


def test_a_renewed_lease_goes_hourly_an_hour_after_the_first_delivery(leases: Leases) -> None:
    lease = leases.grant(b"m", 0.0, "me")
    for now in range(9, 3600, 9):
        assert leases.renew(lease.token, float(now)) is lease
    assert lease.available - lease.expires == 3600
    assert lease.deliveries == 1


def test_messages_that_are_gone_leave_nothing_behind(leases: Leases) -> None:
    for number in range(1000):
        leases.grant(b"m%d" % number, float(number), "me")
    for lease in leases.to_check(2000.0, MANY):
        leases.forget(lease.message_id)
    assert (len(leases), leases.next_check()) == (0, None)
    leases.forget(b"m1")


def test_an_expired_lease_is_checked_once_it_is_due(leases: Leases, told: list[Event]) -> None:
    leases.grant(b"m", 0.0, "me")
    second = leases.grant(b"m", 10.0, "me")
    assert leases.to_check(19.9, MANY) == []
    assert leases.to_check(20.0, MANY) == [second]
    assert not leases.checked(second, 20.0)
    assert leases.next_check() == second.available
    assert leases.to_check(21.0, MANY) == [second]
    assert leases.checked(second, 21.0)
    assert leases.next_check() == 21.0 + RECHECK_SECONDS
    assert told == ["leased", "leased", "expired"]


def test_a_renewed_lease_is_not_checked_at_its_old_end(leases: Leases) -> None:
    lease = leases.grant(b"m", 0.0, "me")
    leases.renew(lease.token, 5.0)
    assert leases.to_check(10.0, MANY) == []
    assert leases.to_check(15.0, MANY) == [lease]


def test_leases_are_checked_a_part_at_a_time(leases: Leases) -> None:
    for number in range(5):
        leases.grant(b"m%d" % number, float(number), "me")
    first = leases.to_check(100.0, 2)
    assert [lease.message_id for lease in first] == [b"m0", b"m1"]
    leases.check_again(first, 200.0)
    assert [lease.message_id for lease in leases.to_check(100.0, MANY)] == [b"m2", b"m3", b"m4"]
    assert [lease.message_id for lease in leases.to_check(200.0, MANY)] == [b"m0", b"m1"]


def test_a_lease_that_never_left_is_given_back(leases: Leases, told: list[Event]) -> None:
    leases.give_back(leases.grant(b"m", 0.0, "me"))
    assert len(leases) == 0
    first = leases.grant(b"m", 0.0, "me")
    again = leases.grant(b"m", first.available, "me")
    leases.give_back(again)
    assert leases.available(b"m", 10.0)
    assert next(iter(leases)).deliveries == 1
    assert told == ["leased", "given back", "leased", "leased", "given back"]


def test_giving_back_what_others_hold_does_nothing(leases: Leases) -> None:
    first = leases.grant(b"m", 0.0, "me")
    second = leases.grant(b"m", first.available, "you")
    leases.give_back(first)
    assert leases.running(second.token, first.available) is second


def test_all_is_told(leases: Leases, told: list[Event]) -> None:
    lease: Lease = leases.grant(b"m", 0.0, "me")
    leases.renew(lease.token, 1.0)
    leases.forget(b"m")
    leases.grant(b"n", 0.0, "me")
    leases.clear()
    assert (told, len(leases), leases.next_check()) == (["leased", "renewed", "gone", "leased"], 0, None)
