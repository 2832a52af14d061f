"""A small model of what the documentation says of queues: messages, leases, renewals, acknowledgments.

It is told what clients did and what they were answered, and objects (AssertionError) to what breaks a rule.
Nothing in it waits or rounds. A row says by its lease's end at which moment it was delivered, so that is
compared exactly; what else is known only so well, because it happened between a request and its answer, is
a ``Moment``. Where more than one thing may have happened to a message, for example because a receiver
crashed with rows on their way, the model keeps them all as the message's ``past``, until an answer tells.

https://docs.cloud.google.com/spanner/docs/queues/queues-overview
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy_spanner_queues._delivery import LEASE_SECONDS
from tests.emulator_model.facts import Action, Held, Moment, Remove, Row

ROUNDING_SECONDS = 0.000_01
"""Timestamps travel as text, to the microsecond."""


@dataclass(slots=True, eq=False)
class Message:
    """A message, known by its payload, which no other has; its ``past`` is None or Held, perhaps several."""

    key: int
    payload: str
    due: Moment
    past: tuple[Held | None, ...] = (None,)

    def learn(self, due: float) -> None:
        """Take note of the deliver time that the database gave it."""
        soonest, latest = self.due.low - ROUNDING_SECONDS, self.due.high + ROUNDING_SECONDS
        assert soonest <= due <= latest, f"{self} got the deliver time {due}"
        self.due = Moment(due, due)

    def available(self, held: Held | None) -> Moment:
        """When it is delivered next, if that is its past."""
        return self.due if held is None else held.again()

    def is_due(self, now: float) -> bool:
        """Whether it is surely to be delivered now."""
        return all(self.available(held).high <= now for held in self.past)

    def delivered(self, when: Moment) -> tuple[Held, ...]:
        """What its past may be after a delivery; empty when it cannot have been delivered then."""
        possible = [h for h in self.past if self.available(h).low - ROUNDING_SECONDS <= when.high]
        ends = when + LEASE_SECONDS
        held = [Held(h.deliveries + 1, h.first, ends) if h else Held(1, when, ends) for h in possible]
        return tuple(dict.fromkeys(held))


@dataclass(slots=True, eq=False)
class Receiver:
    """An open RECEIVE: it takes keys from ``low`` on, in batches of at most ``size``, ``until`` it ends."""

    low: int
    size: int
    opened: float
    until: Moment
    taken: int = 0
    batch: list[Row] = field(default_factory=lambda: list[Row]())

    def add(self, row: Row) -> None:
        """Take a row, and check that batches are what they must be."""
        if self.batch and self.batch[-1].last:
            same = self.batch[-1].expires == row.expires
            assert not same, f"{row} was leased with a row that is flagged as the last of its batch"
            self.batch.clear()
        self.batch.append(row)
        self.taken += 1
        assert len(self.batch) <= self.size, f"a batch of more than {self.size}: {self.batch}"

    @property
    def in_batch(self) -> bool:
        """Whether there must be more rows, because the last one has no flag."""
        return bool(self.batch) and not self.batch[-1].last

    def end(self, now: float) -> None:
        """Check that it may end, and ends with a whole batch."""
        assert self.until.low <= now, f"a stream ended {self.until.low - now} s early"
        assert not self.in_batch, f"no flag on the last row of {self.batch}"


@dataclass(slots=True, eq=False)
class Lease:
    """A token that a client was given; ``over`` when there is a newer one, or nobody remembers it."""

    message: Message
    ends: float
    over: bool = False


class Model:
    """A queue."""

    def __init__(self) -> None:
        self.pending: dict[int, Message] = {}
        self.leases: dict[str, Lease] = {}
        self._sent: dict[str, Message] = {}
        self._gone: dict[str, float] = {}

    def outcome(
        self, actions: Iterable[Action], when: Moment, *, forgiving: bool = False, behind: float = 0.0
    ) -> tuple[str, dict[int, Message]]:
        """Tell how a transaction ends, and what is pending then; ``OK`` or the first error.

        One that is ``forgiving`` goes on after an acknowledgment that failed with OUT_OF_RANGE. A deliver
        time that is left out may be up to ``behind`` seconds too early.
        """
        pending = dict(self.pending)
        for action in actions:
            error = _apply(action, pending, when, behind)
            if error and not (forgiving and error == "OUT_OF_RANGE"):
                return error, self.pending
        return "OK", pending

    def commit(self, pending: Mapping[int, Message], now: float) -> None:
        """Let what a transaction leaves be so; ``now`` is when that is known."""
        for message in self.pending.values():
            if pending.get(message.key) is not message:
                self._gone[message.payload] = now
        self.pending = dict(pending)
        self._sent |= {message.payload: message for message in pending.values()}

    def look(self, rows: Sequence[tuple[int, str, float]]) -> None:
        """Compare with the rows of the table, and learn their deliver times."""
        found = {(key, payload) for key, payload, _ in rows}
        assert found == self.contents(self.pending), "the table holds other messages than those pending"
        for key, _, due in rows:
            self.pending[key].learn(due)

    def which(
        self, states: Sequence[Mapping[int, Message]], rows: Iterable[tuple[int, str, float]]
    ) -> set[tuple[int, str]]:
        """Return what the table holds, which must be one of these states."""
        found = {(key, payload) for key, payload, _ in rows}
        assert found in [self.contents(state) for state in states], f"the table is in neither state: {found}"
        return found

    @staticmethod
    def contents(pending: Mapping[int, Message]) -> set[tuple[int, str]]:
        """Return keys and payloads."""
        return {(message.key, message.payload) for message in pending.values()}

    def missing(self, receivers: Sequence[Receiver], now: float) -> list[Message]:
        """Return the messages that somebody who receives must be given now."""
        lows = [receiver.low for receiver in receivers if receiver.until.low > now]
        due = [message for message in self.pending.values() if message.is_due(now)]
        return [message for message in due if any(message.key >= low for low in lows)]

    def receive(self, row: Row, receiver: Receiver, now: float) -> None:
        """Take note of a row that arrived."""
        receiver.add(row)
        at, message = row.delivered, self._sent[row.payload]
        assert row.key == message.key
        message.learn(row.due)
        assert row.key >= receiver.low, f"{row} does not match the filter"
        assert receiver.opened - ROUNDING_SECONDS <= at <= now, f"{row} was leased {now - at} s ago"
        assert at >= message.due.low - ROUNDING_SECONDS, f"{row} came {message.due.low - at} s early"
        gone = self._gone.get(row.payload)
        assert gone is None or at <= gone, f"{row} came after it was acknowledged"
        past = message.delivered(Moment(at, at))
        assert past, f"{row} came while it is leased or rests, {message.past} s"
        message.past = past
        self._hold(row.token, message, row.expires)

    def renewals(self, token: str, when: Moment) -> set[str]:
        """Tell what may come of a renewal: no row, a row without a new token, or one with it."""
        lease = self.leases.get(token)
        if lease is None or lease.over or lease.ends <= when.low:
            return {"no row"}
        answer = "null" if lease.message.payload in self._gone else "renewed"
        return {answer} if lease.ends > when.high + ROUNDING_SECONDS else {answer, "no row"}

    def renew(self, token: str, answer: tuple[str | None, float] | None, when: Moment) -> None:
        """Take note of the answer to a renewal: the new token and the new end, if there is a row."""
        got = "no row" if answer is None else "null" if answer[0] is None else "renewed"
        assert got in (allowed := self.renewals(token, when)), f"{token}: {got}, not {allowed}"
        if answer is None or answer[0] is None:
            return
        new, ends = answer
        assert new not in self.leases, "the token is not new"
        soonest, latest = when.low + LEASE_SECONDS, when.high + LEASE_SECONDS
        assert soonest - ROUNDING_SECONDS <= ends <= latest + ROUNDING_SECONDS, f"renewed until {ends}"
        message = self.leases[token].message
        self._extend(message, Moment(ends, ends))
        self._hold(new, message, ends)

    def renew_unheard(self, token: str, when: Moment) -> None:
        """Take note of a renewal whose answer got lost."""
        allowed = self.renewals(token, when)
        if "renewed" in allowed:
            message, before = self.leases[token].message, self.leases[token].message.past
            self._extend(message, when + LEASE_SECONDS)
            if "no row" in allowed:
                message.past += before
            self.leases[token].over = True

    def lose(self, receiver: Receiver, when: Moment) -> None:
        """Take note that a receiver is gone: what was on its way to it may be leased, and may be not."""
        for message in self.pending.values():
            if message.key >= receiver.low:
                message.past = tuple(dict.fromkeys(message.past + message.delivered(when)))

    def forget(self) -> None:
        """Take note that all leases are forgotten: everything pending may come at once."""
        for message in self.pending.values():
            message.past = (None,)
        for lease in self.leases.values():
            lease.over = True

    def turning_points(self, now: float) -> list[float]:
        """Return the moments to come when something changes: lease ends, back-off ends, deliver times."""
        return sorted({moment for message in self.pending.values() for moment in _points(message, now)})

    def _extend(self, message: Message, ends: Moment) -> None:
        message.past = tuple(Held(held.deliveries, held.first, ends) for held in message.past if held)

    def _hold(self, token: str, message: Message, ends: float) -> None:
        for lease in self.leases.values():
            lease.over |= lease.message is message
        self.leases[token] = Lease(message, ends)


def _apply(action: Action, pending: dict[int, Message], when: Moment, behind: float) -> str:
    if isinstance(action, Remove):
        return action.missing if pending.pop(action.key, None) is None else ""
    if action.key in pending:
        return "ALREADY_EXISTS"
    due = when + max(action.delay or 0.0, 0.0)
    if action.delay is None:
        due = Moment(due.low - behind, due.high)
    pending[action.key] = Message(action.key, action.payload, due)
    return ""


def _points(message: Message, now: float) -> Iterator[float]:
    for held in message.past:
        times = [message.available(held).high, *([held.ends.high] if held else [])]
        yield from (time for time in times if time > now)
