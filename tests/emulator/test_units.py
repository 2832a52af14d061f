"""The gateway's parts without any emulator: clock, leases, feeds, faults, turns, mutations, chunks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from google.protobuf.struct_pb2 import ListValue, Value

from sqlalchemy_spanner_queues._delivery import LEASE_SECONDS, redelivery_delay
from sqlalchemy_spanner_queues.emulator import _protos as pb
from sqlalchemy_spanner_queues.emulator.delivery.clock import Clock, format_timestamp, parse_timestamp
from sqlalchemy_spanner_queues.emulator.delivery.feed import Candidate, Feed, Filter, Waiter
from sqlalchemy_spanner_queues.emulator.delivery.leases import Lease, Leases
from sqlalchemy_spanner_queues.emulator.errors import Refusal
from sqlalchemy_spanner_queues.emulator.faults import Fault, Faults
from sqlalchemy_spanner_queues.emulator.text.create_queue import parse_create_queue
from sqlalchemy_spanner_queues.emulator.upstream.api import collect
from sqlalchemy_spanner_queues.emulator.writing.mutations import translate_mutations
from sqlalchemy_spanner_queues.emulator.writing.turns import Holder, Turns

KEY = ListValue(values=[Value(string_value="1")])
QUEUES = {
    "q": parse_create_queue("CREATE QUEUE q (Id INT64 NOT NULL, Payload JSON NOT NULL) PRIMARY KEY (Id)"),
    "off": parse_create_queue(
        "CREATE QUEUE off (Id INT64 NOT NULL, Payload JSON NOT NULL) PRIMARY KEY (Id),"
        " OPTIONS (disable_send = true)"
    ),
}


def test_redelivery_backs_off_and_then_goes_hourly() -> None:
    assert [redelivery_delay(n, 60) for n in range(1, 7)] == [0, 1, 2, 4, 8, 16]
    assert redelivery_delay(12, 3000) == 600
    assert redelivery_delay(1_000_000, 3600) == 600
    assert redelivery_delay(13, 3600.1) == 3600
    with pytest.raises(ValueError, match="at least 1"):
        redelivery_delay(0, 0)


def test_the_clock_only_moves_forward() -> None:
    clock = Clock(lambda: 100.0)
    told: list[float] = []
    clock.on_move(lambda: told.append(clock.now()))
    clock.advance(5)
    clock.advance(0.5)
    assert (clock.now(), told) == (105.5, [105.0, 105.5])
    with pytest.raises(ValueError, match="forward"):
        clock.advance(-1)
    clock.reset()
    assert clock.now() == 100.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:01Z", 1.0),
        ("1970-01-01T00:00:01.5Z", 1.5),
        ("2026-01-31T12:00:00.123456789Z", 1769860800.123456789),
    ],
)
def test_timestamps(text: str, seconds: float) -> None:
    assert parse_timestamp(text) == pytest.approx(seconds, abs=1e-6)
    assert parse_timestamp(format_timestamp(seconds)) == pytest.approx(seconds, abs=1e-6)


def test_a_lease_is_exclusive_and_runs_out() -> None:
    leases = Leases()
    lease = leases.grant("m", KEY, 100.0, "me")
    assert lease.expires == 100.0 + LEASE_SECONDS
    assert not leases.available("m", 109.9)
    assert leases.available("m", 110.0)
    assert leases.available("other", 100.0)


def test_renewing_rotates_the_token() -> None:
    leases = Leases()
    old = leases.grant("m", KEY, 100.0, "me").token
    renewed = leases.renew(old, 105.0)
    assert renewed is not None
    assert (renewed.expires, renewed.token != old) == (115.0, True)
    assert leases.renew(old, 105.0) is None
    assert leases.renew(renewed.token, 115.0) is None
    assert leases.renew("nonsense", 105.0) is None


def test_redeliveries_wait_longer_each_time() -> None:
    leases = Leases()
    now, waits = 0.0, []
    for _ in range(5):
        lease = leases.grant("m", KEY, now, "me")
        waits.append(lease.available - lease.expires)
        now = lease.available
    assert waits == [0, 1, 2, 4, 8]


def test_messages_that_are_gone_leave_nothing_behind() -> None:
    leases = Leases()
    for number in range(1000):
        leases.grant(f"m{number}", KEY, float(number), "me")
    for lease in leases.to_check(2000.0):
        leases.forget(lease.message_id)
    assert len(leases) == 0
    assert leases.next_check() is None


def test_an_expired_lease_is_checked_once_it_is_due() -> None:
    leases = Leases()
    leases.grant("m", KEY, 0.0, "me")
    second = leases.grant("m", KEY, 10.0, "me")
    assert leases.to_check(19.9) == []
    assert leases.to_check(20.0) == [second]
    assert not leases.checked(second, 20.0)
    assert leases.to_check(21.0) == [second]
    assert leases.checked(second, 21.0)


def test_a_lease_that_never_left_is_given_back() -> None:
    leases = Leases()
    leases.give_back(leases.grant("m", KEY, 0.0, "me"))
    assert len(leases) == 0
    first = leases.grant("m", KEY, 0.0, "me")
    again = leases.grant("m", KEY, first.available, "me")
    leases.give_back(again)
    assert leases.available("m", 10.0)
    assert next(iter(leases)).deliveries == 1


def feed_of(ready: int, *wants: int) -> tuple[Feed, list[Waiter]]:
    feed = Feed(Filter("q", "", b""))
    feed.ready.extend(Candidate(f"m{number}", KEY) for number in range(ready))
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


def test_leased_messages_are_skipped_and_gone_receivers_passed_over() -> None:
    async def run() -> tuple[list[Lease], int]:
        leases = Leases()
        leases.grant("m0", KEY, 0.0, "somebody")
        feed, (gone, waiting) = feed_of(2, 100, 100)
        gone.batch.cancel()
        feed.hand_out(leases, lambda: 1.0)
        return waiting.batch.result(), len(feed.waiters)

    batch, left = asyncio.run(run())
    assert ([lease.message_id for lease in batch], left) == (["m1"], 0)


def test_a_receivers_time_ends_with_an_empty_batch() -> None:
    async def run() -> list[int | None]:
        feed, waiters = feed_of(0, 1)
        feed.end_expired(999.0)
        before = sizes(waiters)
        feed.end_expired(1000.0)
        return [*before, *sizes(waiters)]

    assert asyncio.run(run()) == [None, 0]


def test_faults_are_used_up() -> None:
    faults = Faults()
    faults.inject(Fault("Commit", times=2))
    faults.inject(Fault("ExecuteStreamingSql", match="RENEW"))
    assert faults.take("ExecuteStreamingSql", "SELECT 1") is None
    assert faults.take("ExecuteStreamingSql", "SELECT RENEW") is not None
    assert [faults.take("Commit", "") is not None for _ in range(3)] == [True, True, False]
    assert not faults.armed
    with pytest.raises(ValueError, match="NONSENSE"):
        faults.inject(Fault("Commit", code="NONSENSE"))


class Somebody:
    def __init__(self) -> None:
        self.running = 0
        self.last_active = 0.0
        self.since = 0.0


def test_turns_are_taken_in_order() -> None:
    async def run() -> list[int]:
        async def never(_: Holder) -> None:
            raise AssertionError

        turns, order = Turns(never), list[int]()
        people = [Somebody() for _ in range(5)]
        for person in people:
            person.running = 1

        async def write(number: int) -> None:
            await turns.acquire(people[number])
            order.append(number)
            await asyncio.sleep(0)
            turns.release(people[number])

        tasks = [asyncio.create_task(write(number)) for number in range(5)]
        await asyncio.sleep(0)
        tasks[3].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return order

    assert asyncio.run(run()) == [0, 1, 2, 4]


def test_a_silent_holder_is_evicted() -> None:
    async def run() -> list[Holder]:
        evicted: list[Holder] = []

        async def evict(holder: Holder) -> None:
            evicted.append(holder)

        turns, silent, other = Turns(evict), Somebody(), Somebody()
        silent.last_active = silent.since = asyncio.get_running_loop().time() - 100
        await turns.acquire(silent)
        await asyncio.wait_for(turns.acquire(other), 5)
        assert turns.holder is other
        return [holder for holder in evicted if holder is silent]

    assert len(asyncio.run(run())) == 1


def send(queue: str, *key: str) -> pb.Mutation:
    mutation = pb.Mutation()
    mutation.send.queue = queue
    mutation.send.key.values.extend(Value(string_value=part) for part in key)
    mutation.send.payload.string_value = "{}"
    return mutation


def test_mutations_are_translated_in_order() -> None:
    acknowledge, ignore = pb.Mutation(), pb.Mutation()
    for mutation in (acknowledge, ignore):
        mutation.ack.queue = "Q"
        mutation.ack.key.values.append(Value(string_value="1"))
    ignore.ack.ignore_not_found = True
    translated, sent = translate_mutations([acknowledge, send("q", "1"), ignore], QUEUES)
    operations = [mutation.WhichOneof("operation") for mutation in translated]
    assert (operations, sent) == (["update", "delete", "insert", "delete"], {"q"})
    assert list(translated[2].insert.columns) == ["Id", "Payload"]


@pytest.mark.parametrize("mutation", [send("off", "1"), send("nothing", "1"), send("q", "1", "2")])
def test_wrong_mutations_are_refused(mutation: pb.Mutation) -> None:
    with pytest.raises(Refusal):
        translate_mutations([mutation], QUEUES)


def test_chunked_values_are_put_together() -> None:
    def chunk(values: list[Value], *, chunked: bool, fields: int = 0) -> bytes:
        part = pb.PartialResultSet()
        for _ in range(fields):
            part.metadata.row_type.fields.add()
        part.values.extend(values)
        part.chunked_value = chunked
        return part.SerializeToString()

    def text(value: str) -> Value:
        return Value(string_value=value)

    def array(*values: Value) -> Value:
        return Value(list_value=ListValue(values=values))

    async def chunks() -> AsyncIterator[bytes]:
        yield chunk([text("a"), text("hel")], chunked=True, fields=2)
        yield chunk([text("l")], chunked=True)
        yield chunk([text("o"), array(text("x"), text("y"))], chunked=True)
        yield chunk([array(text("z"), text("w")), Value(bool_value=True)], chunked=False)

    async def run() -> list[list[Value]]:
        return (await collect(chunks())).rows

    assert asyncio.run(run()) == [
        [text("a"), text("hello")],
        [array(text("x"), text("yz"), text("w")), Value(bool_value=True)],
    ]
