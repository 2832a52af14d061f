"""The model itself: what it expects, and what it objects to. No gateway is asked."""

from __future__ import annotations

import pytest

from tests.emulator_model.facts import Moment, Remove, Row, Send
from tests.emulator_model.model import Model, Receiver

NOON = 43_200.0


def at(seconds: float) -> Moment:
    """A moment that is known exactly, so many seconds after noon."""
    return Moment(NOON + seconds, NOON + seconds)


def model_with(*actions: Send) -> Model:
    """A model in which something was sent at noon."""
    model = Model()
    code, pending = model.outcome(actions, at(0))
    assert code == "OK"
    model.commit(pending, NOON)
    return model


def receiver(low: int = 0, size: int = 20) -> Receiver:
    return Receiver(low, size, opened=NOON, until=at(3600))


def row(key: int, payload: str, seconds: float, token: str = "t", last: bool = True, due: float = 0) -> Row:
    """A row that was leased so many seconds after noon."""
    return Row(key, payload, NOON + due, NOON + seconds + 10, token, last)


def missing(model: Model, seconds: float, low: int = 0) -> list[str]:
    """What somebody who receives must be given."""
    return [message.payload for message in model.missing([receiver(low)], NOON + seconds)]


def deliver(model: Model, *rows: Row, to: Receiver | None = None) -> None:
    to = to or receiver()
    for arrived in rows:
        model.receive(arrived, to, arrived.delivered)


def test_a_transaction_is_all_or_nothing() -> None:
    model = model_with(Send(1, payload="a"))
    for actions, code in [
        ([Send(2, payload="b"), Send(1, payload="c")], "ALREADY_EXISTS"),
        ([Remove(1), Remove(3, "NOT_FOUND")], "NOT_FOUND"),
        ([Remove(1, "OUT_OF_RANGE"), Remove(1, "OUT_OF_RANGE")], "OUT_OF_RANGE"),
    ]:
        assert model.outcome(actions, at(1)) == (code, model.pending)


def test_after_a_failed_acknowledgment_a_transaction_may_go_on() -> None:
    model = model_with(Send(1, payload="a"))
    actions = [Remove(2, "OUT_OF_RANGE"), Remove(1, "OUT_OF_RANGE")]
    assert model.outcome(actions, at(1), forgiving=True) == ("OK", {})


def test_a_message_is_due_at_its_deliver_time() -> None:
    model = model_with(Send(1, payload="now"), Send(2, 5, "later"), Send(3, -60, "past"))
    assert missing(model, 1) == ["now", "past"]
    assert missing(model, 5) == ["now", "later", "past"]
    assert missing(model, 5, low=2) == ["later", "past"]


def test_a_leased_message_comes_again_after_the_lease_and_a_back_off() -> None:
    model = model_with(Send(1, payload="a"))
    deliver(model, row(1, "a", 0))
    assert missing(model, 9.9) == []
    assert missing(model, 10) == ["a"]
    deliver(model, row(1, "a", 10, "second"))
    assert missing(model, 20.9) == []
    assert missing(model, 21) == ["a"]


@pytest.mark.parametrize(
    ("arrived", "objection"),
    [
        (row(1, "a", 9, "again"), "while it is leased"),
        (row(2, "later", 4, due=5), "early"),
        (row(3, "gone", 2), "after it was acknowledged"),
        (row(1, "a", 1, "before"), "was leased"),
    ],
)
def test_rows_that_it_objects_to(arrived: Row, objection: str) -> None:
    model = model_with(Send(1, payload="a"), Send(2, 5, "later"), Send(3, payload="gone"))
    deliver(model, row(1, "a", 0))
    model.commit({1: model.pending[1], 2: model.pending[2]}, NOON + 1)
    opened = NOON + 2 if objection == "was leased" else NOON
    with pytest.raises(AssertionError, match=objection):
        deliver(model, arrived, to=Receiver(0, 20, opened, at(3600)))


def test_rows_must_match_the_filter() -> None:
    with pytest.raises(AssertionError, match="filter"):
        deliver(model_with(Send(1, payload="a")), row(1, "a", 1), to=receiver(low=2))


@pytest.mark.parametrize(
    ("flags", "objection"),
    [([False, False, False], "more than 2"), ([True, False, True], "flagged as the last")],
)
def test_batches_that_it_objects_to(flags: list[bool], objection: str) -> None:
    model = model_with(*(Send(key, payload=f"p{key}") for key in range(3)))
    rows = [row(key, f"p{key}", 1, f"t{key}", last) for key, last in enumerate(flags)]
    with pytest.raises(AssertionError, match=objection):
        deliver(model, *rows, to=receiver(size=2))


def test_a_renewal_replaces_the_token_and_moves_the_end() -> None:
    model = model_with(Send(1, payload="a"))
    deliver(model, row(1, "a", 0, "old"))
    model.renew("old", ("new", NOON + 15), at(5))
    assert model.renewals("old", at(6)) == {"no row"}
    assert model.renewals("new", at(6)) == {"renewed"}
    assert missing(model, 14.9) == []
    assert missing(model, 15) == ["a"]
    assert model.renewals("new", at(15)) == {"no row"}


def test_the_renewal_of_an_acknowledged_message_has_no_new_token() -> None:
    model = model_with(Send(1, payload="a"))
    deliver(model, row(1, "a", 0))
    model.commit({}, NOON + 1)
    assert model.renewals("t", at(2)) == {"null"}
    assert model.renewals("t", at(11)) == model.renewals("garbage", at(2)) == {"no row"}


def test_a_key_that_is_sent_again_is_a_new_message() -> None:
    model = model_with(Send(1, payload="a"))
    deliver(model, row(1, "a", 0))
    _, pending = model.outcome([Remove(1), Send(1, payload="b")], at(1))
    model.commit(pending, NOON + 1)
    assert missing(model, 1) == ["b"]
    assert model.renewals("t", at(2)) == {"null"}


@pytest.mark.parametrize(("came", "rests", "due"), [(5, 14.9, 15), (12, 22.9, 23)])
def test_what_a_crashed_receiver_was_given_is_uncertain(came: float, rests: float, due: float) -> None:
    """At 5 s it shows that it was not leased; at 12 s it may be the second time, with a back-off after it."""
    model = model_with(Send(1, payload="a"))
    model.lose(receiver(), at(1))
    assert missing(model, 10.9) == []
    assert missing(model, 11) == ["a"]
    deliver(model, row(1, "a", came))
    assert missing(model, rests) == []
    assert missing(model, due) == ["a"]


def test_a_gateway_that_crashes_forgets_leases() -> None:
    model = model_with(Send(1, payload="a"), Send(2, payload="b"))
    deliver(model, row(1, "a", 0, last=False), row(2, "b", 0, "u"))
    model.commit({2: model.pending[2]}, NOON + 1)
    model.forget()
    assert missing(model, 2) == ["b"]
    assert model.renewals("u", at(2)) == {"no row"}


def test_the_table_must_hold_what_is_pending() -> None:
    model = model_with(Send(1, 5, payload="a"))
    model.look([(1, "a", NOON + 5)])
    for rows in ([], [(1, "b", NOON + 5)], [(1, "a", NOON)]):
        with pytest.raises(AssertionError):
            model.look(rows)
