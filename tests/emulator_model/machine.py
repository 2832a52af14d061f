"""Random clients of a queue: what they do, and what must hold after each step."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.emulator_model.client import COMMIT, Ending
from tests.emulator_model.driver import Driver
from tests.emulator_model.facts import Action, Remove, Send
from tests.emulator_model.world import World

KEYS = st.integers(1, 6)
DELAYS = st.sampled_from([None, None, None, None, -30, 0, 3, 25, 4000])
SENDS = st.builds(Send, KEYS, DELAYS)
LIST_OF_SENDS = st.lists(SENDS, min_size=1, max_size=2)
ACKNOWLEDGMENTS = st.builds(Remove, KEYS, st.just("OUT_OF_RANGE"))
STATEMENTS = st.one_of(SENDS, SENDS, SENDS, ACKNOWLEDGMENTS, st.builds(Remove, KEYS))
ACKS = st.builds(Remove, KEYS, st.sampled_from(["NOT_FOUND", ""]))
MUTATIONS = st.lists(
    st.one_of(SENDS, SENDS, SENDS, ACKS), min_size=1, max_size=3, unique_by=lambda action: action.key
)

FAILED = Ending(code="UNKNOWN")
UNHEARD = Ending(code="UNKNOWN", after=True)
REPEATED = [Ending(code="UNAVAILABLE"), Ending(code="UNAVAILABLE", after=True), Ending(code="ABORTED")]
ENDINGS = st.sampled_from([*[COMMIT] * 6, Ending("rollback"), FAILED, UNHEARD, *REPEATED])
MUTATION_ENDINGS = st.sampled_from([*[COMMIT] * 4, FAILED, UNHEARD])

LOWS = st.sampled_from([0, 0, 3, 5])
SIZES = st.sampled_from([20, 20, 20, 3, 1])
DURATIONS = st.sampled_from([5, 60, 1200, 20_000])
SECONDS = st.sampled_from([0.5, 2.5, 5, 9.5, 10, 10.5, 12, 60, 900, 3600])
MARGINS = st.sampled_from([-0.5, 0.01, 0.5])
NUMBERS = st.integers(0, 7)
TOKENS = st.lists(st.integers(-1, 4), min_size=1, max_size=4)
MOST_RECEIVERS = 2


class QueueMachine(RuleBasedStateMachine):
    """The clients of one queue; ``steps`` counts those of all machines."""

    steps = 0

    def __init__(self, world: World) -> None:
        super().__init__()
        self.driver = Driver(world)
        self.may_crash = self.may_vanish = False

    @initialize(
        may_crash=st.sampled_from([False] * 4 + [True]), may_vanish=st.sampled_from([False] * 19 + [True])
    )
    def start(self, may_crash: bool, may_vanish: bool) -> None:
        """Say which of the slow accidents may happen this time, at most once each."""
        self.may_crash, self.may_vanish = may_crash, may_vanish

    @rule(actions=st.lists(STATEMENTS, min_size=1, max_size=4), ending=ENDINGS, forgiving=st.booleans())
    def statements(self, actions: list[Action], ending: Ending, forgiving: bool) -> None:
        self.driver.transact(actions, ending, forgiving=forgiving)

    @rule(actions=MUTATIONS, ending=MUTATION_ENDINGS, insert=st.booleans())
    def mutations(self, actions: list[Action], ending: Ending, insert: bool) -> None:
        self.driver.mutate(actions, ending, insert=insert)

    @rule(key=KEYS, delay=DELAYS, mutation=st.booleans())
    def reschedule(self, key: int, delay: int | None, mutation: bool) -> None:
        run = self.driver.mutate if mutation else self.driver.transact
        run([Remove(key), Send(key, delay)])

    @rule(number=NUMBERS, mutation=st.booleans(), ending=MUTATION_ENDINGS)
    def acknowledge(self, number: int, mutation: bool, ending: Ending) -> None:
        """Acknowledge what somebody was given, whatever became of it meanwhile."""
        lease = self.driver.model.leases.get(self._token(number))
        key = lease.message.key if lease else number
        if mutation:
            self.driver.mutate([Remove(key, "NOT_FOUND")], ending)
        else:
            self.driver.transact([Remove(key, "OUT_OF_RANGE")], ending)

    @rule()
    def receive(self) -> None:
        self.driver.receive(low=0, size=20)

    @rule(low=LOWS, size=SIZES)
    def receive_some(self, low: int, size: int) -> None:
        self.driver.receive(low, size)

    @rule(low=LOWS, size=SIZES, seconds=DURATIONS)
    def open_receiver(self, low: int, size: int, seconds: int) -> None:
        """Open a receiver that stays; when there are two already, the older one crashes."""
        if len(self.driver.receivers) == MOST_RECEIVERS:
            self.driver.lose(next(iter(self.driver.receivers)))
        self.driver.open(low, size, seconds)

    @rule(low=LOWS, size=SIZES, rows=st.integers(0, 4))
    def receiver_crashes(self, low: int, size: int, rows: int) -> None:
        self.driver.crash_after(low, size, rows)

    @rule(numbers=TOKENS, heard=st.sampled_from([True, True, True, False]))
    def renew(self, numbers: list[int], heard: bool) -> None:
        self.driver.renew([self._token(number) for number in numbers], heard=heard)

    @rule(number=NUMBERS)
    def renew_with_the_token_that_was_replaced(self, number: int) -> None:
        token = self._token(number)
        self.driver.renew([token])
        self.driver.renew([token])

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.driver.world.advance(seconds)

    @rule(number=NUMBERS, margin=MARGINS)
    def time_passes_until_something_changes(self, number: int, margin: float) -> None:
        """Move the clock just before or after a lease's end, the end of a back-off, a deliver time."""
        now = self.driver.world.now()
        points = self.driver.model.turning_points(now)
        point = points[number % len(points)] if points else now
        self.driver.world.advance(max(0.0, point + margin - now))

    @precondition(lambda self: self.may_crash)
    @rule(actions=LIST_OF_SENDS)
    def gateway_crashes_in_a_transaction(self, actions: list[Action]) -> None:
        self.may_crash = False
        self.driver.crash(actions)

    @precondition(lambda self: self.may_vanish)
    @rule(actions=LIST_OF_SENDS)
    def client_vanishes_in_a_transaction(self, actions: list[Action]) -> None:
        self.may_vanish = False
        self.driver.vanish(actions)

    @invariant()
    def table_and_receivers_agree_with_the_model(self) -> None:
        self.driver.check()
        QueueMachine.steps += 1

    def teardown(self) -> None:
        # The check before the first step is none.
        QueueMachine.steps -= 1
        self.driver.close()

    def _token(self, number: int) -> str:
        tokens = list(self.driver.model.leases)
        return tokens[-1 - number % len(tokens)] if tokens and number >= 0 else "garbage"
