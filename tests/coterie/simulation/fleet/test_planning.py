"""The planner: what it proposes reaches the goal on seeds that chose nothing, and what does not says by how much."""

from dataclasses import replace

import pytest

from coterie.simulation.clock import DAY_S, in_words
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.drifts.steady import Steady
from coterie.simulation.fleet.planning import Goal, Proposals, propose, usual_dimensions
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.fleet.sweep import Dimension, changed, combinations
from coterie.simulation.progress import SimulationProgress, unreported
from coterie_learning.plan import presets
from tests.coterie.simulation.fleet.fleets import run

NOISE = "privacy.noise_multiplier"
UNIFORM = {"kind": "fed_avg", "weight_by": "uniform"}
DIMENSIONS = (Dimension("local.learning_rate", (0.0001, 0.1)), Dimension("codec.kind", ("float32", "int8")))


def found(goal: Goal, dimensions: tuple[Dimension, ...] = DIMENSIONS, rounds: int = 9) -> Proposals:
    slow = run(rounds=rounds, local={"kind": "sgd", "epochs": 2, "learning_rate": 0.0001})
    return propose(slow, goal, dimensions, seeds=1, report=unreported)


def test_a_goal_that_can_be_reached_is_by_what_learns() -> None:
    goal = Goal(0.8, DAY_S)
    proposals = found(goal).proposals
    reach = [one for one in proposals if one.reaches_goal]
    assert {one.values["local.learning_rate"] for one in reach} == {0.1}
    assert all(one.figures.accuracy >= 0.8 and one.figures.reaches_s is not None for one in reach)
    assert list(proposals[: len(reach)]) == reach, "first come those that reach it"
    (own,) = (one for one in proposals if not one.values)
    assert not own.reaches_goal and own.reason.startswith("Misses the goal: it reaches")
    assert "The plan as it is does not." in reach[0].reason


@pytest.mark.long
def test_a_limit_of_bytes_leaves_those_that_send_few() -> None:
    free = found(Goal(0.8, DAY_S)).proposals
    sent = {one.values.get("codec.kind"): one.figures.bytes_per_device for one in free if one.reaches_goal}
    assert sent["int8"] < sent["float32"]
    limited = found(Goal(0.8, DAY_S, bytes_per_device=(sent["int8"] + sent["float32"]) / 2)).proposals
    reach = [one for one in limited if one.reaches_goal]
    assert {one.values["codec.kind"] for one in reach} == {"int8"}
    assert any("times the bytes" in one.reason for one in limited)


def test_what_nobody_reaches_is_said_and_the_nearest_comes_first() -> None:
    """The control: an accuracy that noise forbids."""
    proposals = found(Goal(1.0, DAY_S), rounds=3).proposals
    assert not any(one.reaches_goal for one in proposals)
    accuracies = [one.figures.accuracy for one in proposals]
    assert accuracies == sorted(accuracies, reverse=True)
    assert all(one.reason.endswith("of 1.000 in 3 rounds, and no more were tried.") for one in proposals)


def test_the_same_arguments_give_the_same_proposals_and_progress_ends() -> None:
    told: list[SimulationProgress] = []
    goal, few = Goal(0.7, DAY_S), DIMENSIONS[:1]
    one = propose(run(rounds=3), goal, few, seeds=1, report=told.append)
    other = propose(run(rounds=3), goal, few, seeds=1, report=unreported)
    assert one.json() == other.json()
    assert all(0 <= one.share <= 1 for one in told)
    assert [one.share for one in told] == sorted(one.share for one in told)


@pytest.mark.long
def test_too_many_candidates_are_thinned_out_with_few_rounds() -> None:
    many = (Dimension("local.learning_rate", (0.0001, 0.001, 0.01, 0.05, 0.1, 0.2)),)
    proposals = found(Goal(0.8, DAY_S), many).proposals
    assert len(proposals) == 5, "four and the plan as it is"
    assert 0.0001 not in {one.values.get("local.learning_rate") for one in proposals if one.reaches_goal}


def test_rounds_are_no_larger_than_a_third_of_the_fleet() -> None:
    sizes = {one.path: one.values for one in usual_dimensions(replace(run(), devices=40))}["pace.target_updates"]
    assert sizes == (10,)


@pytest.mark.parametrize(
    ("preset", "left_out"),
    [
        ("fedavg", {NOISE}),
        ("fedadam", {NOISE}),
        ("scaffold", {"local.epochs", NOISE}),
        ("secure", {"pace.target_updates", NOISE}),
        ("private", set()),
    ],
)
def test_what_is_usually_tried_fits_published_plans(preset: str, left_out: set[str]) -> None:
    given = replace(run(), devices=10, plan=presets()[preset])
    usual = usual_dimensions(given)
    every = {"local.learning_rate", "local.epochs", "codec.kind", "pace.target_updates", NOISE}
    assert {one.path for one in usual} == every - left_out
    for values in combinations(usual, "grid", seed=0):
        changed(given.plan, {path: one for path, one in values.items() if path != "pace.target_updates"})


def test_noise_is_traded_for_accuracy_and_what_it_tells_is_counted() -> None:
    """Little noise reaches the accuracy and tells much; much noise tells little and does not."""
    noised = run(rounds=4, merge=UNIFORM, privacy={"kind": "central_noise", "norm": 1.0, "noise_multiplier": 0.1})
    noise = (Dimension("privacy.noise_multiplier", (0.1, 30.0)),)
    free = propose(noised, Goal(0.6, DAY_S), noise, seeds=1, report=unreported).proposals
    little, much = (next(one for one in free if one.values.get("privacy.noise_multiplier") == z) for z in (0.1, 30.0))
    assert little.reaches_goal and not much.reaches_goal
    assert little.figures.epsilon is not None and much.figures.epsilon is not None
    assert little.figures.epsilon > 10 * much.figures.epsilon > 0
    strict = propose(noised, Goal(0.6, DAY_S, epsilon=1.0), noise, seeds=1, report=unreported).proposals
    assert not any(one.reaches_goal for one in strict)
    assert any("tells epsilon" in one.reason for one in strict)


def test_a_plan_that_guarantees_nothing_misses_an_epsilon() -> None:
    proposals = propose(run(), Goal(0.3, DAY_S, epsilon=8.0), (), seeds=1, report=unreported).proposals
    assert all(one.figures.epsilon is None and "guarantees no device anything" in one.reason for one in proposals)


def test_a_goal_must_be_one() -> None:
    with pytest.raises(DoesNotFit, match="accuracy"):
        found(Goal(1.5, DAY_S))


ALONE = {"local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.0001}, "pace": {"kind": "alone"}}


def test_while_samples_come_devices_are_judged_before_they_learn_and_costs_end_where_they_are_good_enough() -> None:
    """Plans without rounds have no version to judge; what devices do later is not what it took."""
    given = replace(run(**ALONE), drift=Steady(), devices=12, each=120)
    rates = (Dimension("local.learning_rate", (0.0001, 0.3)),)
    low, high = (
        propose(given, Goal(goal, DAY_S / 2), rates, seeds=1, report=unreported).proposals for goal in (0.6, 0.9)
    )
    early, late = (next(one for one in those if one.values) for those in (low, high))
    assert early.values == {"local.learning_rate": 0.3} and early.reaches_goal and late.reaches_goal
    assert early.figures.reaches_s is not None and late.figures.reaches_s is not None
    assert 0 < early.figures.reaches_s < late.figures.reaches_s < DAY_S / 2
    assert 0 < early.figures.joules_per_device < late.figures.joules_per_device
    assert early.figures.accuracy >= 0.6 and early.figures.rounds == 0
    assert early.reason.startswith(f"Reaches the goal after {in_words(early.figures.reaches_s)}")
    (own,) = (one for one in low if not one.values)
    assert not own.reaches_goal and own.figures.joules_per_device > early.figures.joules_per_device


def test_a_simulation_that_ends_earlier_is_the_beginning_of_the_whole_one() -> None:
    given = replace(run(**ALONE), drift=Steady(), devices=6, each=60, days=0.5)
    whole = simulate_fleet(given, report=unreported)
    assert whole.tick_s is not None
    half = simulate_fleet(replace(given, ends_s=4 * whole.tick_s), report=unreported)
    assert half.accuracy_by_tick == whole.accuracy_by_tick[:4] and half.simulated_s == 4 * whole.tick_s
    assert half.trained_s < whole.trained_s
