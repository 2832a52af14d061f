"""Who may write: one at a time, in the order in which they came, and not for ever."""

from __future__ import annotations

import asyncio

from sqlalchemy_spanner_queues.emulator.writing.turns import Holder, Turns


class Somebody:
    def __init__(self, running: int = 0) -> None:
        self.running = running
        self.last_active = 0.0
        self.since = 0.0
        self.idle_seconds = 4.0


async def never(_: Holder) -> None:
    raise AssertionError


def test_turns_are_taken_in_order() -> None:
    async def run() -> list[int]:
        turns, order = Turns(never), list[int]()
        people = [Somebody(running=1) for _ in range(5)]

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


def test_only_the_holder_passes_the_turn_on() -> None:
    async def run() -> Holder | None:
        turns, holder, other = Turns(never), Somebody(), Somebody()
        await turns.acquire(holder)
        turns.release(other)
        assert turns.holder is holder
        turns.release(holder)
        turns.release(holder)
        return turns.holder

    assert asyncio.run(run()) is None


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
