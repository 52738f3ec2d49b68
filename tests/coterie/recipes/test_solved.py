"""Federations whose versions are solved: boosted trees, and linear models by Newton's method."""

from collections.abc import Mapping

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import predict_logits
from coterie.simulation.on_device import Rows, run_training
from coterie_learning.client.round import ClientRound, Given
from coterie_learning.merge.boosted_trees import BoostedTrees
from coterie_learning.plan import parse_plan
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors
from tests.coterie.recipes.solving import (
    LEVELS,
    TREES,
    CentralTrees,
    after,
    drawn,
    learner,
    linear,
    plan_for,
    splits_of,
    trained_on,
    trees,
    versions,
)

MERGE = BoostedTrees(edge_rounds=1)
GROWN = {"kind": "boosted_trees", "edge_rounds": 1}
ROUNDS = 1 + TREES * LEVELS


def parted(data: Dataset, count: int) -> list[Dataset]:
    """`data` dealt out unequally, by class, with none that has more than all others."""
    order = np.argsort(data.labels, kind="stable")
    cuts = np.cumsum([0.9 + 0.2 * (place % 2) for place in range(count - 1)]) * len(order) // count
    cuts = cuts.astype(int)
    return [Dataset({"x": data.inputs["x"][rows]}, data.labels[rows]) for rows in np.split(order, cuts)]


def pooled(data: list[Dataset]) -> Dataset:
    kept = [trained_on(one) for one in data]
    return Dataset(
        {"x": np.concatenate([one.inputs["x"] for one in kept])}, np.concatenate([one.labels for one in kept])
    )


@pytest.mark.long
@pytest.mark.parametrize("devices", [1, 4], ids=["one device", "four that differ"])
def test_trees_are_those_of_central_histogram_boosting(devices: int) -> None:
    """With one device: the degenerate case, local training."""
    plan, data = plan_for(GROWN), parted(drawn(0, 400), devices)
    first = learner(trees(), plan)
    version = after(first, plan, data, rounds=ROUNDS)
    everything = pooled(data)
    central = CentralTrees(MERGE, version["edges"], version["base"])
    outputs = central.fit(everything.inputs["x"], everything.labels, count=TREES, levels=LEVELS)
    assert len(central.splits) > TREES
    assert sorted(splits_of(version)) == sorted(central.splits), "bit for bit"
    found = predict_logits(first.graphs.predict, version, everything)
    np.testing.assert_allclose(found, outputs, rtol=1e-4, atol=1e-5)


def test_every_level_makes_the_version_better_and_a_full_ensemble_stays() -> None:
    plan, data = plan_for(GROWN), parted(drawn(2, 400), 3)
    first, everything = learner(trees(), plan), pooled(data)
    losses, found = [], versions(first, plan, data, rounds=ROUNDS + 2)
    for version in found[:ROUNDS]:
        logits = predict_logits(first.graphs.predict, version, everything)
        odds = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        losses.append(-odds[np.arange(len(odds)), everything.labels].mean())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.8 * losses[0]
    assert all(np.array_equal(found[ROUNDS - 1][name], found[-1][name]) for name in found[-1])


def test_edges_move_to_where_samples_are() -> None:
    """Agreed too wide by far, edges come to the quantiles in a few rounds; with none they stay."""
    data = [Dataset({"x": one.inputs["x"] * 0.05}, one.labels) for one in parted(drawn(3, 600), 3)]
    used = {}
    for rounds in (0, 6):
        plan = plan_for({"kind": "boosted_trees", "edge_rounds": rounds})
        edges = after(learner(trees(), plan), plan, data, rounds=rounds + 1)["edges"]
        used[rounds] = np.mean([np.searchsorted(np.sort(edges[0]), one.inputs["x"][:, 0]).std() for one in data])
        assert (np.diff(edges, axis=1) >= 0).all()
    assert used[0] < 1 < used[6]


def test_trees_see_no_sum_of_columns_that_a_line_sees() -> None:
    """The negative control: small trees lose to Newton's method where a sum of columns decides, and win elsewhere."""
    crossed = drawn(4, 600)
    x = crossed.inputs["x"]
    summed = Dataset({"x": x}, (x.sum(axis=1) > 0.1).astype(np.int64))
    for data, loser in ((summed, "trees"), (crossed, "line")):
        shares: dict[str, float] = {}
        for name, plan, model in (
            ("trees", plan_for(GROWN), trees()),
            ("line", plan_for({"kind": "newton"}), linear(2)),
        ):
            first = learner(model, plan)
            version = after(first, plan, parted(data, 3), rounds=ROUNDS)
            logits = predict_logits(first.graphs.predict, version, data)
            shares[name] = float((logits.argmax(axis=1) == data.labels).mean())
        assert min(shares, key=shares.__getitem__) == loser
        assert max(shares.values()) - min(shares.values()) > 0.05


def test_secure_sums_grow_the_same_first_tree() -> None:
    x = drawn(5, 500).inputs["x"]
    data = parted(Dataset({"x": x}, ((x[:, 0] > 0.2) & (x[:, 1] > -0.1)).astype(np.int64)), 5)
    hidden = {"kind": "secure_aggregation", "min_devices": 5, "norm": 5.0, "full_samples": 500}
    pace = {"kind": "sync", "target_updates": 5, "min_updates": 5}
    grown: list[Tensors] = []
    for slots in ({}, {"privacy": hidden}):
        plan = plan_for(GROWN, pace=pace, **slots)
        grown.append(after(learner(trees(), plan), plan, data, rounds=1 + LEVELS))
    plain, masked = grown
    assert np.array_equal(plain["feature"][0], masked["feature"][0])
    np.testing.assert_allclose(plain["threshold"][0], masked["threshold"][0], rtol=0.1, atol=0.1)
    np.testing.assert_allclose(plain["value"][0], masked["value"][0], atol=0.1)
    assert not np.array_equal(plain["value"][0], masked["value"][0]), "the sum was taken on a grid"


def test_a_part_that_was_killed_goes_on_bit_for_bit() -> None:
    plan, data = plan_for(GROWN), drawn(6, 120)
    first = learner(trees(), plan)
    received, graphs = after(first, plan, [data], rounds=3), first.graphs
    rows = Rows(data, graphs.spec, range(1, 121))
    given = Given(
        plan=plan.device,
        model=graphs.spec,
        received=received,
        ids=rows.ids,
        seen=(0, 1),
        seed=3,
        secret=4,
        states={},
    )

    def whole(part: ClientRound) -> bytes:
        return part.finish(run_training(part.training, graphs, rows)).update.payload

    halted = ClientRound(given, graphs.open_steps)
    run_training(halted.training, graphs, rows, steps_allowed=3)
    assert 0 < halted.training.steps_done < halted.training.steps_total
    resumed = ClientRound(given, graphs.open_steps, checkpoint=halted.training.checkpoint())
    assert whole(resumed) == whole(ClientRound(given, graphs.open_steps))


def test_one_round_is_ridge_regression() -> None:
    rng = np.random.default_rng(7)
    x = drawn(7, 300).inputs["x"]
    y = (x @ [[1.5], [-2.0], [0.3]] + 0.7 + rng.normal(0, 0.3, (300, 1))).astype(np.float32)
    cuts = (90, 200)
    data = [Dataset({"x": rows}, targets) for rows, targets in zip(np.split(x, cuts), np.split(y, cuts), strict=True)]
    plan = plan_for({"kind": "newton", "l2": 0.02})
    version = after(learner(linear(1), plan, "mean_squared_error"), plan, data, rounds=1)
    everything = pooled(data)
    ridge = Ridge(alpha=0.02 * len(everything.labels) / 2).fit(everything.inputs["x"], everything.labels.reshape(-1))
    np.testing.assert_allclose(version["weight"][0], ridge.coef_.reshape(-1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(version["bias"], ridge.intercept_, rtol=1e-4, atol=1e-5)


def test_a_few_rounds_are_logistic_regression() -> None:
    rng = np.random.default_rng(8)
    x = drawn(8, 400).inputs["x"]
    labels = (x @ [1.0, -1.0, 0.5] + rng.logistic(0, 1, 400) > 0).astype(np.int64)
    data = parted(Dataset({"x": x}, labels), 3)
    plan = plan_for({"kind": "newton", "l2": 0.01})
    first = learner(linear(2), plan)
    everything = pooled(data)
    # Two rows w and -w of ridge λ have together the loss of one row 2w of ridge λ/2.
    central = LogisticRegression(C=2 / (0.01 * len(everything.labels)), tol=1e-10).fit(
        everything.inputs["x"], everything.labels
    )
    far, near = (after(first, plan, data, rounds=rounds) for rounds in (1, 5))
    line = near["weight"][1] - near["weight"][0]
    np.testing.assert_allclose(line, central.coef_[0], rtol=1e-3, atol=1e-4)
    assert np.abs(far["weight"][1] - far["weight"][0] - central.coef_[0]).max() > 0.01, "one round is not enough"


@pytest.mark.parametrize(
    ("slots", "code"),
    [
        ({"local": {"kind": "sgd"}}, "half"),
        ({"merge": {"kind": "fed_avg"}}, "half"),
        ({"personal": {"kind": "fine_tuned"}}, "take personal none"),
        ({"pace": {"kind": "buffered"}}, "take pace sync"),
        ({"pace": {"kind": "alone"}}, "take pace sync"),
        ({"codec": {"kind": "top_k"}}, "take float32"),
        ({"topology": {"kind": "gossip"}}, "topology star"),
        ({"help": {"kind": "cartel"}}, "take help none"),
    ],
)
def test_what_solving_does_not_go_with_is_refused(slots: Mapping[str, object], code: str) -> None:
    choice = {"local": {"kind": "second_order"}, "merge": {"kind": "newton"}, "codec": {"kind": "float32"}}
    parse_plan(choice)
    with pytest.raises(WireError, match="go together" if code == "half" else code):
        parse_plan({**choice, **slots})
