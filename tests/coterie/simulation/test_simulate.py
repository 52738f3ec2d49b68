"""Whole simulations, small ones."""

import pytest

from coterie.simulation.baselines.centralised import Centralised
from coterie_learning.plan import parse_plan, plan_document, presets
from tests.coterie.simulation.small import ROUNDS, run, scenario

ALONE = {"pace": {"kind": "alone"}, "local": {"kind": "sgd", "learning_rate": 0.1}}


def test_the_same_arguments_give_the_same_bytes_and_another_seed_gives_others() -> None:
    plan = {"pace": ROUNDS}
    assert run(plan).json() == run(plan).json()
    assert run(plan).json() != run(plan, seed=1).json()


def test_devices_alone_send_nothing_and_learn() -> None:
    outcome = run(ALONE)
    assert outcome.bytes_by_kind == {}
    assert outcome.rounds == ()
    first, last = outcome.accuracy_by_tick[0], outcome.accuracy_by_tick[3]
    assert first is not None and last is not None and last > first
    assert [(one.device, one.tick) for one in outcome.recoveries] == [("device-0", 4), ("device-2", 4)]


def test_a_batch_is_judged_before_it_is_learned() -> None:
    sure = run({**ALONE, "local": {"kind": "sgd", "epochs": 50, "learning_rate": 0.3}}, seed=3)
    device = sure.devices[0]
    assert device.correct[3] >= 9, "two digits are easy after three batches of fifty epochs"
    assert device.correct[4] <= 9, "and a digit that was never seen cannot be told on the day it comes"


def test_rounds_are_held_and_counted_in_the_bytes_that_really_travel() -> None:
    outcome = run({"pace": ROUNDS, "codec": {"kind": "float32"}})
    merged = [one for one in outcome.rounds if one.outcome == "merged"]
    assert len(merged) >= 2 and all(one.delivered == 2 for one in merged)
    assert [one.number for one in outcome.rounds] == list(range(1, len(outcome.rounds) + 1))
    assert outcome.bytes_by_kind["updates"] >= 2 * len(merged) * 4 * (64 * 4 + 4 + 4 * 10 + 10)
    halved = run({"pace": ROUNDS, "codec": {"kind": "int8"}})
    assert halved.bytes_by_kind["updates"] < outcome.bytes_by_kind["updates"] / 2


def test_prox_without_its_term_is_sgd() -> None:
    sgd = run({"pace": ROUNDS, "local": {"kind": "sgd", "epochs": 2}})
    prox = run({"pace": ROUNDS, "local": {"kind": "prox", "epochs": 2, "mu": 0.0}})
    held = run({"pace": ROUNDS, "local": {"kind": "prox", "epochs": 2, "mu": 5.0}})
    assert prox.devices == sgd.devices
    assert held.devices != sgd.devices


@pytest.mark.parametrize("name", ["scaffold", "feddyn", "fednova", "qfedavg", "perfedavg"])
def test_the_family_of_sums_runs_from_one_round_to_the_next(name: str) -> None:
    outcome = run(parse_plan({**plan_document(presets()[name]), "pace": ROUNDS}))
    assert sum(one.outcome == "merged" and one.delivered == 2 for one in outcome.rounds) >= 2


PRIVATE = {
    "pace": ROUNDS,
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
    "local": {"kind": "sgd", "epochs": 2},
}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["central_noise", "local_noise"])
def test_noise_costs_accuracy_and_hardly_any_noise_hardly_any(kind: str) -> None:
    clipped = run({**PRIVATE, "privacy": {"kind": "clip", "norm": 2.0}})
    found = [
        run({**PRIVATE, "privacy": {"kind": kind, "norm": 2.0, "noise_multiplier": multiplier}}).accuracy.mean
        for multiplier in (1e-6, 30.0)
    ]
    assert abs(found[0] - clipped.accuracy.mean) < 0.05
    assert found[1] < clipped.accuracy.mean - 0.05


def test_under_correlated_noise_devices_rest_and_rounds_end_at_the_target() -> None:
    kind = {"kind": "correlated_noise", "norm": 2.0, "noise_multiplier": 1e-6, "separation_rounds": 2}
    found = {
        target: [one.delivered for one in run({**PRIVATE, "privacy": {**kind, "target_rounds": target}}).rounds]
        for target in (3, 100)
    }
    assert found[3] == [2, 2, 2] and len(found[100]) > 3
    alone = run({**PRIVATE, "privacy": {**kind, "separation_rounds": 3}})
    assert [one.delivered for one in alone.rounds] == [2, 2], "two of four devices a round: a third finds nobody rested"


def test_a_norm_that_follows_updates_learns_from_where_a_fixed_one_does_not() -> None:
    kind = {"kind": "central_noise", "norm": 0.05, "noise_multiplier": 1e-6}
    fixed, adaptive = (run({**PRIVATE, "privacy": {**kind, **more}}) for more in ({}, {"quantile": 0.9}))
    assert adaptive.accuracy.mean > fixed.accuracy.mean + 0.1


def test_pooling_sends_every_sample_and_every_model() -> None:
    outcome = run(Centralised(learning_rate=0.1))
    samples = 4 * 8 * 10
    assert outcome.bytes_by_kind["raw"] > samples * (64 * 4 + 8)
    assert outcome.bytes_by_kind["versions"] > 7 * 4 * 4 * 310
    assert [device.correct[:1] for device in outcome.devices] == [device.correct[:1] for device in run(ALONE).devices]


def test_a_device_trains_only_while_it_charges() -> None:
    never = run(ALONE, scenario(habits={"charging": [3, 3]}))
    always = run(ALONE)
    assert never.accuracy.mean < always.accuracy.mean
    no_rounds = run({"pace": ROUNDS}, scenario(habits={"charging": [3, 3]}))
    assert no_rounds.rounds == ()


def test_who_would_be_late_sends_part_of_the_work() -> None:
    slow = scenario(speed={"sample_s": 4.0, "spread": 0})
    outcome = run({"pace": {**ROUNDS, "deadline_s": 100}, "local": {"kind": "sgd", "epochs": 5}}, slow)
    assert outcome.rounds[0].outcome == "merged"
    assert outcome.rounds[0].ended_s - outcome.rounds[0].opened_s <= 100


def test_who_cannot_take_one_step_before_the_deadline_leaves_the_round() -> None:
    slow = scenario(speed={"sample_s": 1000.0, "spread": 0})
    outcome = run({"pace": {**ROUNDS, "deadline_s": 30}}, slow)
    assert {one.outcome for one in outcome.rounds} == {"abandoned"}
