"""Every kind of slot `pace`, as a state machine: whatever devices do, a round ends and keeps its bounds."""

from typing import cast

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from coterie_learning.pace import FULL_WEIGHT, Decision, Pace, View
from coterie_learning.plan import PACE

HOLDS_ROUNDS = {name: kind for name, kind in PACE.kinds.items() if kind().holds_rounds()}
CODE = "rounds."


def round_of(kind: type[Pace]) -> type[RuleBasedStateMachine]:
    """What devices may do in a round under `kind`, and what it must do then."""

    class Held(RuleBasedStateMachine):
        pace: Pace
        live = delivered = 0
        elapsed_s = 0.0
        invited = 0

        @initialize(data=st.data())
        def open(self, data: st.DataObject) -> None:
            self.pace = kind()
            if "target_updates" in kind.__struct_fields__:
                most = data.draw(st.integers(1, 30))
                least = data.draw(st.integers(1, most))
                self.pace = cast(Pace, msgspec.structs.replace(self.pace, target_updates=most, min_updates=least))
            if "buffer" in kind.__struct_fields__:
                buffer, at_work = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 30))
                self.pace = cast(Pace, msgspec.structs.replace(self.pace, buffer=buffer, at_work=at_work))

        def decide(self, *, is_open: bool = True) -> Decision:
            return self.pace.decide(View(self.live, self.delivered, self.elapsed_s, is_open))

        @property
        def is_over(self) -> bool:
            return self.decide().ends

        @precondition(lambda self: not self.is_over)
        @rule(ready=st.integers(0, 40))
        def become_ready(self, ready: int) -> None:
            asked = min(ready, self.decide().devices)
            self.live += asked
            self.invited += asked

        @precondition(lambda self: self.live and not self.is_over)
        @rule()
        def deliver(self) -> None:
            self.live -= 1
            self.delivered += 1

        @precondition(lambda self: self.live and not self.is_over)
        @rule(count=st.integers(1, 40))
        def drop_out(self, count: int) -> None:
            self.live -= min(count, self.live)

        @rule(seconds=st.floats(0, 1e5))
        def pass_time(self, seconds: float) -> None:
            self.elapsed_s += seconds

        @invariant()
        def a_decision_is_whole(self) -> None:
            if not hasattr(self, "pace"):
                return
            decision = self.decide()
            assert (decision.act == "invite") is (decision.devices > 0)
            assert decision.reason.code.startswith(CODE)
            assert decision.reason.sentence
            assert decision == self.decide(), "the same view, the same decision"

        @invariant()
        def a_round_that_takes_no_more_ends(self) -> None:
            if hasattr(self, "pace"):
                assert self.decide(is_open=False).ends

        @invariant()
        def a_round_ends_at_its_deadline(self) -> None:
            if hasattr(self, "pace"):
                late = View(self.live, self.delivered, self.pace.deadline_after_s())
                assert self.pace.decide(late).ends

        @invariant()
        def nothing_is_merged_without_updates(self) -> None:
            if hasattr(self, "pace") and not self.delivered:
                assert self.decide(is_open=False).act == "close"

        @invariant()
        def it_asks_and_takes_a_bounded_number(self) -> None:
            if hasattr(self, "pace"):
                assert self.delivered <= self.pace.updates_wanted()
                first = self.pace.decide(View(0, 0, 0.0)).devices
                carries_on = self.pace.staleness_allowed() is not None
                busy = self.live if carries_on else self.live + self.delivered
                assert busy <= first, "who drops out is replaced, and no more"

        def teardown(self) -> None:
            """If all devices that are asked deliver from now on, the round ends with a merge before its deadline."""
            if not hasattr(self, "pace") or self.is_over:
                return
            while not self.is_over:
                if self.decide().act == "invite":
                    self.live += self.decide().devices
                assert self.live, "a round that waits for nobody would wait for ever"
                self.live -= 1
                self.delivered += 1
            assert self.decide().act == "merge"

    return Held


@pytest.mark.parametrize("name", HOLDS_ROUNDS)
def test_a_round_ends_and_stays_within_its_bounds(name: str) -> None:
    machine = round_of(HOLDS_ROUNDS[name])
    run_state_machine_as_test(machine, settings=settings(max_examples=60, stateful_step_count=30, deadline=None))


@pytest.mark.parametrize("name", HOLDS_ROUNDS)
def test_its_times_and_counts_are_positive(name: str) -> None:
    pace = HOLDS_ROUNDS[name]()
    assert 1 <= pace.devices_needed() <= pace.decide(View(0, 0, 0.0)).devices
    assert pace.deadline_after_s() > 0
    assert pace.pause_after_s() >= 0
    assert pace.absence_after_s() > 0


@pytest.mark.parametrize("name", HOLDS_ROUNDS)
def test_updates_weigh_less_the_staler_they_are_and_nothing_beyond_what_is_allowed(name: str) -> None:
    pace = HOLDS_ROUNDS[name]()
    allowed = pace.staleness_allowed() or 0
    found = [pace.discount(staleness) for staleness in range(allowed + 3)]
    assert found[0] == FULL_WEIGHT
    assert found == sorted(found, reverse=True)
    assert all(found[: allowed + 1])
    assert found[allowed + 1 :] == [0, 0]


@pytest.mark.parametrize("name", PACE.kinds.keys() - HOLDS_ROUNDS.keys())
def test_one_without_rounds_says_how_often_a_device_trains(name: str) -> None:
    assert PACE.kinds[name]().rest_s() >= 0
