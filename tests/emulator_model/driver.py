"""Does a thing to the gateway, tells the model, and compares what the two say.

How it knows that nothing more is due, without waiting in vain: what the model says must arrive is waited
for, up to the end of its batch, and whatever arrives besides is held against the model, at the moment at
which its row says that it was leased. A receiver that is to find what is due, and nothing else, gets a
message of its own first, the sentinel: it has always something to wait for, and when that has come the
gateway has looked at the queue. What was on its way to a receiver that closes or crashes stays uncertain in
the model until it comes again; as a rule that is nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from google.api_core.exceptions import Unknown

from tests.emulator.helpers import TIMEOUT_SECONDS
from tests.emulator_model.client import COMMIT, Ending
from tests.emulator_model.facts import Action, Moment, Remove, Row, Send
from tests.emulator_model.model import Model, Receiver
from tests.emulator_model.streams import Ended, Stream, Streams
from tests.emulator_model.world import World

SENTINEL = 100
SHORT_SECONDS = 30


class Driver:
    """The clients of one queue, and the model that watches them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.model = Model()
        self.receivers: dict[Stream, Receiver] = {}
        self._streams = Streams()
        self._payloads = (f"p{number}" for number in itertools.count())
        world.clear()

    def transact(
        self, actions: Sequence[Action], ending: Ending = COMMIT, *, forgiving: bool = False
    ) -> None:
        """Run a transaction of DML statements."""
        actions = self._with_payloads(actions)
        began = self.world.now()
        code = self.world.client.transact(actions, ending, forgiving=forgiving)
        expected = self._outcome(actions, began, ending, forgiving=forgiving)
        self._conclude(code, ending, *expected)

    def mutate(self, actions: Sequence[Action], ending: Ending = COMMIT, *, insert: bool = False) -> None:
        """Commit mutations: Ack, and Send or ``insert``."""
        actions = self._with_payloads(actions)
        began = self.world.now()
        code = self.world.client.mutate(actions, began, ending, insert=insert)
        expected, pending = self._outcome(actions, began, ending)
        if ending.code and not ending.after:
            # It fails before anybody looks at the mutations.
            expected = ending.code
        self._conclude(code, ending, expected, pending)

    def vanish(self, actions: Sequence[Action]) -> None:
        """Leave a transaction open, and send from another one, which has to wait until that is given up."""
        client = self.world.client
        began = self.world.now()
        transaction = client.begin()
        client.execute(transaction, self._with_payloads(actions))
        self.transact([Remove(SENTINEL), Send(SENTINEL)])
        assert self.world.now() - began < TIMEOUT_SECONDS
        assert client.end(transaction, COMMIT) == "ABORTED"

    def open(self, low: int, size: int, seconds: int) -> Stream:
        """Open a receiver."""
        began = self.world.now()
        stream = self._streams.open(self.world.client.receive(low, size, seconds))
        until = Moment(began, self.world.now()) + seconds
        self.receivers[stream] = Receiver(low, size, began, until)
        return stream

    def receive(self, low: int, size: int) -> None:
        """Receive all that is due, and nothing else."""
        self.mutate([Remove(SENTINEL), Send(SENTINEL)])
        stream = self.open(low, size, SHORT_SECONDS)
        self.settle()
        if stream in self.receivers:
            self.lose(stream)
        self.mutate([Remove(SENTINEL)])

    def crash_after(self, low: int, size: int, rows: int) -> None:
        """Open a receiver that crashes when it has taken some rows, or all that are due."""
        stream = self.open(low, size, SHORT_SECONDS)
        receiver, now = self.receivers[stream], self.world.now()
        while receiver.taken < rows and self._missing(now):
            self._wait(now)
        self.lose(stream)

    def lose(self, stream: Stream) -> None:
        """Let a receiver crash."""
        receiver = self.receivers.pop(stream)
        stream.cancel()
        # An answer on the same connection: the gateway knows by now.
        self.look()
        self.model.lose(receiver, Moment(receiver.opened, self.world.now()))

    def crash(self, actions: Sequence[Action]) -> None:
        """Let the gateway crash in the middle of a transaction, and start another one."""
        client = self.world.client
        client.execute(client.begin(), self._with_payloads(actions))
        self.receivers.clear()
        self.world.crash()
        self.model.forget()

    def renew(self, tokens: Sequence[str], *, heard: bool = True) -> None:
        """Renew leases; the answer may get lost."""
        began = self.world.now()
        answers = self._renew(tokens, heard=heard)
        when = Moment(began, self.world.now())
        for token in dict.fromkeys(tokens):
            if heard:
                self.model.renew(token, answers.pop(token, None), when)
            else:
                self.model.renew_unheard(token, when)
        assert not answers, "rows for tokens that nobody asked for"

    def check(self) -> None:
        """Check what must hold at any time."""
        self.look()
        self.settle()

    def look(self) -> None:
        """Compare the table with what is pending."""
        self.model.look(self.world.client.rows())

    def settle(self) -> None:
        """Wait for all that must arrive, and take what else has arrived."""
        now = self.world.now()
        while self._missing(now):
            self._wait(now)
        while (arrival := self._streams.arrived()) is not None:
            self._take(*arrival)

    def close(self) -> None:
        """Let all receivers go."""
        for stream in self.receivers:
            stream.cancel()
        self.receivers.clear()

    def _outcome(
        self, actions: Sequence[Action], began: float, ending: Ending, *, forgiving: bool = False
    ) -> tuple[str, dict]:
        when = Moment(began, self.world.now())
        code, pending = self.model.outcome(actions, when, forgiving=forgiving, behind=self.world.ahead)
        if code == "OK" and ending.code == "UNKNOWN":
            code = "UNKNOWN"
        return code, dict(self.model.pending) if ending.verb == "rollback" else pending

    def _conclude(self, code: str, ending: Ending, expected: str, pending: dict) -> None:
        assert code == expected, f"it ended in {code}, not in {expected}"
        if code == "UNKNOWN":
            # A client knows only that one of two states holds, until it looks; the model must agree.
            states = [self.model.pending, pending]
            found = self.model.which(states, self.world.client.rows())
            assert found == self.model.contents(states[ending.after])
            pending = states[ending.after]
        self.model.commit(pending, self.world.now())

    def _renew(self, tokens: Sequence[str], *, heard: bool) -> dict[str, tuple[str | None, float]]:
        if heard:
            return self.world.client.renew(tokens)
        try:
            self.world.emulator.inject("ExecuteSql", code="UNKNOWN", after_apply=True)
            self.world.client.renew(tokens)
        except Unknown:
            return {}
        raise AssertionError("the answer did not get lost")

    def _with_payloads(self, actions: Sequence[Action]) -> list[Action]:
        return [
            replace(action, payload=next(self._payloads)) if isinstance(action, Send) else action
            for action in actions
        ]

    def _missing(self, now: float) -> list[object]:
        receivers = list(self.receivers.values())
        unfinished = [receiver for receiver in receivers if receiver.until.high <= now or receiver.in_batch]
        return [*unfinished, *self.model.missing(receivers, now)]

    def _wait(self, now: float) -> None:
        arrival = self._streams.wait()
        assert arrival is not None, f"neither came nor ended: {self._missing(now)}"
        self._take(*arrival)

    def _take(self, stream: Stream, arrived: Row | Ended) -> None:
        receiver = self.receivers.get(stream)
        if receiver is None:
            # It crashed.
            return
        if isinstance(arrived, Row):
            self.model.receive(arrived, receiver, self.world.now())
        else:
            assert arrived.code == "OK"
            receiver.end(self.world.now())
            del self.receivers[stream]
