"""What a sweep tries, and on what it judges."""

from dataclasses import replace

import pytest

from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.fleet.sweep import Dimension, _stages, changed, combinations, parse_dimension, sweep
from coterie.simulation.fleet.table import sweep_table, tried_rows
from coterie.simulation.progress import SimulationProgress, unreported
from coterie_learning.plan import parse_plan, plan_document
from tests.coterie.simulation.fleet.fleets import PLAN, run

RATES = parse_dimension("local.learning_rate=0.0001,0.1")


def test_the_better_rate_wins_on_seeds_that_chose_nothing() -> None:
    told: list[SimulationProgress] = []
    given = run(rounds=4, local={"kind": "sgd", "learning_rate": 0.0001})
    found = sweep(given, [RATES], search="grid", seeds=2, report=told.append)
    assert found.winner == {"local.learning_rate": 0.1}
    assert not set(found.seeds) & set(found.judging_seeds)
    assert found.winner_judged.accuracy > found.given_judged.accuracy + 0.1
    assert [one.values["local.learning_rate"] for one in found.tried] == [0.1, 0.0001]
    assert [one.share for one in told] == sorted(one.share for one in told) and told[-1].share == 1
    assert sweep(given, [RATES], search="grid", seeds=2, report=unreported).json() == found.json()


def test_each_combination_has_the_figures_of_its_runs() -> None:
    found = sweep(run(rounds=2), [RATES], search="grid", seeds=1, report=unreported)
    best = found.tried[0]
    plan = changed(run().plan, best.values)
    alone = simulate_fleet(replace(run(rounds=2), plan=plan, evaluate_every=2), report=unreported)
    figures = {
        "rounds": 2,
        "accuracy": alone.accuracy,
        "device_accuracy_mean": alone.device_accuracy.mean,
        "device_accuracy_median": alone.device_accuracy.median,
        "device_accuracy_worst_decile": alone.device_accuracy.worst_decile,
        "bytes_per_device": alone.bytes_per_device,
        "joules_per_device": alone.joules_per_device,
    }
    assert tried_rows(found)[0] == {**best.values, **figures}
    table = sweep_table("fedavg", found)
    shown = {str(column.header): next(iter(column.cells)) for column in table.columns}
    assert shown["joules"] == f"{alone.joules_per_device:,.1f}"
    assert shown["worst tenth"] == f"{alone.device_accuracy.worst_decile:.3f}"


def test_where_layers_stay_on_devices_the_best_on_devices_wins() -> None:
    """No round trains the version's own head: its accuracy says nothing."""
    given = run(rounds=3, local={"kind": "shared_body", "learning_rate": 0.1})
    found = sweep(given, [RATES], search="grid", seeds=1, report=unreported)
    assert found.chosen_by == "device_accuracy_mean"
    on_devices = [one.device_accuracy_mean for one in found.tried]
    assert on_devices == sorted(on_devices, reverse=True)
    assert found.winner == found.tried[0].values
    again = replace(given, plan=changed(given.plan, found.winner), seed=found.judging_seeds[0], evaluate_every=3)
    alone = simulate_fleet(again, report=unreported)
    assert found.winner_judged.accuracy == alone.device_accuracy.mean != alone.accuracy
    assert "mean accuracy on devices" in str(sweep_table("own layers", found).caption)


def test_halving_gives_more_rounds_to_fewer() -> None:
    assert list(_stages(9, 90, halves=True)) == [(9, 10), (3, 30), (1, 90)]
    assert list(_stages(10, 90, halves=True)) == [(10, 3), (4, 10), (2, 30), (1, 90)]
    assert list(_stages(1, 90, halves=True)) == [(1, 90)]
    assert list(_stages(9, 90, halves=False)) == [(9, 90)]
    given = [Dimension("local.learning_rate", [0.0001, 0.001, 0.1])]
    found = sweep(run(rounds=6), given, search="halving", seeds=1, report=unreported)
    assert found.winner == {"local.learning_rate": 0.1}
    assert [one.rounds for one in found.tried] == [6, 2, 2]


def test_combinations() -> None:
    dimensions = [RATES, parse_dimension("codec.kind=float32,int8")]
    every = combinations(dimensions, "grid", seed=0)
    assert len(every) == 4 and every[0] == {"local.learning_rate": 0.0001, "codec.kind": "float32"}
    some = combinations(dimensions, "random:3", seed=0)
    assert len(some) == 3 and all(one in every for one in some)
    assert combinations(dimensions, "random:3", seed=0) == some
    for search in ("bayes", "random", "random:0"):
        with pytest.raises(DoesNotFit, match="grid, random:N and halving"):
            combinations(dimensions, search, seed=0)


def test_any_slot_can_be_changed() -> None:
    plan = changed(parse_plan(PLAN), {"pace.target_updates": 30, "requirements.charging": True})
    document = plan_document(plan)
    assert document["pace"]["target_updates"] == 30 and document["requirements"]["charging"] is True  # type: ignore[index]
    assert changed(parse_plan(PLAN), {"codec": "float32"}) == changed(parse_plan(PLAN), {"codec.kind": "float32"})
    with pytest.raises(DoesNotFit, match="nothing at locl"):
        changed(parse_plan(PLAN), {"locl.learning_rate": 1})
    with pytest.raises(DoesNotFit, match="learning_rate"):
        changed(parse_plan(PLAN), {"local.learning_rate": -1})


@pytest.mark.parametrize("text", ["local.learning_rate", "learning_rate=1", "local.=1", "local.epochs="])
def test_what_is_no_dimension_is_refused(text: str) -> None:
    with pytest.raises(DoesNotFit, match=r"SLOT\.FIELD=VALUE"):
        parse_dimension(text)


def test_another_kind_keeps_what_both_have_and_begins_with_its_defaults() -> None:
    given = parse_plan({**PLAN, "codec": {"kind": "int8", "granularity": "tensor"}})
    kinds = {"local.mu": 0.2, "local.kind": "prox", "codec.kind": "float32"}
    plan = plan_document(changed(given, kinds))
    assert plan["local"] == {**plan_document(given)["local"], "kind": "prox", "mu": 0.2}  # type: ignore[dict-item]
    assert plan["codec"] == {"kind": "float32"}
    same = changed(given, {"codec.kind": "int8"})
    assert same == given


def test_a_kind_within_a_kind_can_be_changed() -> None:
    given = parse_plan({"down": {"kind": "difference", "encoding": {"kind": "sparse_levels", "step": 3.0}}})
    plan = plan_document(changed(given, {"down.encoding.kind": "int8"}))
    assert plan["down"]["encoding"]["kind"] == "int8"  # type: ignore[index]
    with pytest.raises(DoesNotFit, match="no kind 'int9'"):
        changed(given, {"codec.kind": "int9"})
    with pytest.raises(DoesNotFit, match="no 'kind'"):
        changed(given, {"requirements.kind": "int9"})
