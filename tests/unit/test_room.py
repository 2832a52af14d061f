"""What waits for the handlers of a queue is started in turns, within limits, and batches together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sqlalchemy_spanner_queues.worker import room
from sqlalchemy_spanner_queues.worker.handler import Handler
from sqlalchemy_spanner_queues.worker.room import Room


def handler(**options: Any) -> Handler:
    model: Any = object
    return Handler(print, model, **options)


def job(name: str, of: Handler) -> Any:
    return SimpleNamespace(handler=of, identity=(name,), started=0.0)


def room_with(**waiting: Handler) -> Room:
    """Return a room in which jobs of these names wait for these handlers."""
    made = Room(list(dict.fromkeys(waiting.values())))
    for name, of in waiting.items():
        assert made.enter(job(name, of))
    return made


def names(jobs: list[Any]) -> list[str]:
    return [one.identity[0] for one in jobs]


def chosen(of: Room) -> list[list[str]]:
    """Take out what can be started, again and again, as threads do that do not end."""
    found: list[list[str]] = []
    while jobs := of.choose(all_came=True):
        found.append(names(jobs))
    return found


def test_of_several_types_none_holds_up_the_others() -> None:
    many, few = handler(), handler()
    assert chosen(room_with(a1=many, a2=many, a3=many, b1=few)) == [["a1"], ["b1"], ["a2"], ["a3"]]


def test_a_type_at_its_limit_waits_until_a_thread_is_free() -> None:
    capped, other = handler(concurrency=1), handler()
    made = room_with(a1=capped, a2=capped, b1=other)
    assert chosen(made) == [["a1"], ["b1"]]
    assert (made.at_work(), made.waiting()) == (2, 1)
    made.free(capped)
    assert chosen(made) == [["a2"]]


def test_a_batch_waits_for_the_rest_of_it() -> None:
    batch = handler(batch=3)
    made = room_with(a=batch, b=batch, c=batch, d=batch)
    assert names(made.choose(all_came=False)) == ["a", "b", "c"]
    assert made.choose(all_came=False) == []
    assert made.is_gathering()
    assert names(made.choose(all_came=True)) == ["d"]
    assert not made.is_gathering()


def test_more_than_can_be_parked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_PARKED", 1)
    capped = handler(concurrency=1)
    made = room_with(a=capped)
    assert chosen(made) == [["a"]]
    assert made.enter(job("b", capped))
    assert not made.enter(job("c", capped))
    assert ("c",) not in made


def test_what_is_over_leaves_and_is_noted_where_that_is_asked_for() -> None:
    made = room_with(a=handler())
    (one,) = made.choose(all_came=True)
    made.tried = set()
    made.leave([one])
    assert made.is_empty
    assert made.tried == {("a",)}


def test_another_job_of_the_same_message_stays() -> None:
    made = room_with(a=handler())
    made.leave([job("a", made[("a",)].handler)])
    assert ("a",) in made


def test_what_waits_is_taken_out_and_what_runs_is_not() -> None:
    made = room_with(a=(one := handler()), b=one)
    made.choose(all_came=True)
    assert names(made.clear_waiting()) == ["b"]
    assert ("a",) in made
    assert made.waiting() == 0
