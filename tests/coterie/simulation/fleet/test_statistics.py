"""Models that gather running statistics hold rounds: these travel with updates, and are merged as the platform does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.checkpoint import load
from coterie.simulation.fleet.drifts.steady import Steady
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.lineage import ArrivedUpdate, Lineage
from coterie.simulation.participant import read_update
from coterie.simulation.progress import unreported
from coterie_learning.help.cartel import Cartel
from coterie_learning.plan import parse_plan
from coterie_learning.portions.rules import portion_specs
from coterie_learning.updates import join_update
from coterie_wire.contract import running_statistics
from coterie_wire.errors import WireError
from tests.coterie.simulation.fleet.fleets import CLASSES, NORMALISED, PLAN, compiled, run

ALONE = {"kind": "sync", "target_updates": 12, "min_updates": 10}
UNIFORM = {"kind": "fed_avg", "weight_by": "uniform"}


def test_a_version_has_the_mean_of_means_and_the_variance_of_all_values() -> None:
    plan, model = parse_plan(PLAN), compiled(NORMALISED).spec
    (pair,), begun = model.statistics, compiled(NORMALISED).parameters
    lineage = Lineage(plan, model, begun, fleet=2, seed=0)
    zeros = {spec.name: np.zeros(spec.shape, np.float32) for spec in model.parameters}
    delta = plan.codec.encode(zeros, seed=0).payload

    def sent(mean: float, variance: float) -> ArrivedUpdate:
        told = {
            pair.mean.name: np.full(pair.mean.shape, mean, np.float32),
            pair.variance.name: np.full(pair.variance.shape, variance, np.float32),
        }
        return ArrivedUpdate(join_update(told, delta), samples=10, seen=())

    assert lineage.merge([sent(0.0, 1.0), sent(2.0, 3.0)]).fault is None
    merged = lineage.newest.parameters
    assert merged.keys() == {spec.name for spec in model.version}
    np.testing.assert_allclose(merged[pair.mean.name], 1.0)
    np.testing.assert_allclose(merged[pair.variance.name], 2.0 + 1.0)


def test_devices_learn_together_and_their_statistics_are_kept(tmp_path: Path) -> None:
    given = run(NORMALISED, rounds=8)
    outcome = simulate_fleet(given, report=unreported, keep=tmp_path)
    assert outcome.accuracy > 0.8 > 1 / CLASSES
    assert (outcome.executor, "running statistics" in outcome.executor_reason) == ("exact", True)
    kept = load(tmp_path)
    assert kept is not None
    for spec in running_statistics(given.model.spec):
        assert not np.allclose(kept.newest.parameters[spec.name], given.parameters[spec.name])


def test_under_masks_they_are_hidden_in_the_sum_and_the_same() -> None:
    masks = {"kind": "secure_aggregation", "min_devices": 10, "norm": 10}
    plain, masked = (
        simulate_fleet(run(NORMALISED, merge=UNIFORM, pace=ALONE, **slots), report=unreported)
        for slots in ({}, {"privacy": masks})
    )
    assert masked.accuracy == pytest.approx(plain.accuracy, abs=0.05)
    assert masked.loss == pytest.approx(plain.loss, rel=0.05)


def test_noise_which_does_not_cover_them_is_refused() -> None:
    noise = {"kind": "central_noise", "norm": 0.1}
    with pytest.raises(DoesNotFit, match="does not cover running statistics"):
        simulate_fleet(run(NORMALISED, merge=UNIFORM, privacy=noise), report=unreported)


def test_they_are_gathered_and_merged_while_samples_come() -> None:
    given = replace(run(NORMALISED, rounds=8, pace={**ALONE, "pause_s": 3600}), drift=Steady(), days=1.0)
    outcome = simulate_fleet(given, report=unreported)
    last = outcome.rounds[-1]
    assert len(outcome.rounds) == 8 and last.accuracy is not None and last.accuracy > 0.7


def test_the_cloud_asks_a_devices_model_with_the_statistics_that_the_device_gathered() -> None:
    plan, model, begun = parse_plan(PLAN), compiled(NORMALISED).spec, compiled(NORMALISED).parameters
    trained = {name: tensor + np.float32(1) for name, tensor in begun.items()}
    sent = {spec.name: trained[spec.name] for spec in running_statistics(model)}
    difference = {spec.name: np.ones(spec.shape, np.float32) for spec in model.parameters}
    read = read_update(plan, model, join_update(sent, plan.codec.encode(difference, seed=0).payload), ())
    np.testing.assert_equal(dict(read.statistics), sent)
    np.testing.assert_equal(dict(read.difference), difference)


def test_whole_models_of_helpers_which_leave_them_out_are_refused() -> None:
    with pytest.raises(WireError, match="running statistics") as refused:
        portion_specs(Cartel(portion="learner"), compiled(NORMALISED).spec, (0,))
    assert refused.value.code == "portion.unsupported"
