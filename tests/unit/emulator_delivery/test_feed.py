"""What is due is handed out to the receivers that wait."""

from __future__ import annotations

import asyncio

import pytest
from google.protobuf.struct_pb2 import Struct

from sqlalchemy_spanner_queues.emulator import _protos as pb
from sqlalchemy_spanner_queues.emulator.delivery.feed import Feed, Filter, Waiter
from sqlalchemy_spanner_queues.emulator.delivery.leases import Lease, Leases


def feed_of(ready: int, *wants: int) -> tuple[Feed, list[Waiter]]:
    feed = Feed(Filter("q", (), "", b""))
    feed.ready.extend(b"m%d" % number for number in range(ready))
    waiters = [Waiter(want, 1000.0, "me", asyncio.Future()) for want in wants]
    feed.waiters.extend(waiters)
    return feed, waiters


def sizes(waiters: list[Waiter]) -> list[int | None]:
    return [len(waiter.batch.result()) if waiter.batch.done() else None for waiter in waiters]


@pytest.mark.parametrize(
    ("ready", "wants", "given"),
    [
        (6, (100, 100, 100), [2, 2, 2]),
        (7, (100, 100, 100), [3, 2, 2]),
        (1, (100, 100), [1, None]),
        (10, (2, 100), [2, 8]),
        (0, (1,), [None]),
        (1000, (100, 5), [100, 5]),
    ],
)
def test_what_is_due_is_spread(ready: int, wants: tuple[int, ...], given: list[int | None]) -> None:
    async def run() -> list[int | None]:
        feed, waiters = feed_of(ready, *wants)
        feed.hand_out(Leases(), lambda: 0.0)
        return sizes(waiters)

    assert asyncio.run(run()) == given


def test_those_that_do_not_wait_right_now_get_their_share_later() -> None:
    async def run() -> list[int | None]:
        feed, waiters = feed_of(9, 100)
        feed.receivers = 3
        feed.hand_out(Leases(), lambda: 0.0)
        return sizes(waiters)

    assert asyncio.run(run()) == [3]


def test_leased_messages_are_skipped_and_gone_receivers_passed_over() -> None:
    async def run() -> tuple[list[Lease], int]:
        leases = Leases()
        leases.grant(b"m0", 0.0, "somebody")
        feed, (gone, waiting) = feed_of(2, 100, 100)
        gone.batch.cancel()
        feed.hand_out(leases, lambda: 1.0)
        return waiting.batch.result(), len(feed.waiters)

    batch, left = asyncio.run(run())
    assert ([lease.message_id for lease in batch], left) == ([b"m1"], 0)


def test_a_receiver_keeps_its_place_when_nothing_was_left_for_it() -> None:
    async def run() -> tuple[list[int | None], int]:
        leases = Leases()
        leases.grant(b"m0", 0.0, "somebody")
        feed, waiters = feed_of(1, 100, 100)
        feed.hand_out(leases, lambda: 1.0)
        return sizes(waiters), len(feed.waiters)

    assert asyncio.run(run()) == ([None, None], 2)


def test_a_receivers_time_ends_with_an_empty_batch() -> None:
    async def run() -> list[int | None]:
        feed, waiters = feed_of(0, 1)
        feed.end_expired(999.0)
        before = sizes(waiters)
        feed.end_expired(1000.0)
        return [*before, *sizes(waiters)]

    assert asyncio.run(run()) == [None, 0]


def test_an_error_reaches_all_who_wait() -> None:
    async def run() -> list[BaseException | None]:
        feed, (gone, *waiting) = feed_of(0, 1, 1, 1)
        gone.batch.cancel()
        feed.fail(KeyError("q"))
        assert not feed.waiters
        return [waiter.batch.exception() for waiter in waiting]

    assert [type(error) for error in asyncio.run(run())] == [KeyError, KeyError]


@pytest.mark.parametrize(
    ("ready", "dirty", "more_after", "needs"),
    [
        ([], True, b"", True),
        ([], False, b"m", True),
        ([], False, b"", False),
        ([b"m"], True, b"m", False),
    ],
)
def test_when_a_query_may_find_something(
    ready: list[bytes], dirty: bool, more_after: bytes, needs: bool
) -> None:
    feed = Feed(Filter("q", (), "", b""))
    feed.ready.extend(ready)
    feed.dirty, feed.more_after = dirty, more_after
    assert feed.needs_scan is needs


def test_a_filter_carries_the_parameters_of_the_client() -> None:
    own = pb.ExecuteSqlRequest()
    own.params.update({"low": "7"})
    own.param_types["low"].code = 2
    request = pb.ExecuteSqlRequest()
    request.sql = "SELECT 1"
    Filter("q", (), "Id > @low", own.SerializeToString()).apply_parameters(request)
    assert request.params == Struct(fields={"low": own.params.fields["low"]})
    assert (request.sql, request.param_types["low"].code) == ("SELECT 1", 2)
    assert Filter("q", (), "", b"x") == Filter("q", (), "", b"x") != Filter("q", ("a",), "", b"x")
