"""Linear and forest learners: values that learn, give portions, and take them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learner import Learner, Task, TransferTerms
from coterie.simulation.learners import LearnerKind
from coterie.simulation.learners.forest import Forest
from coterie.simulation.learners.grow import grow_tree
from coterie.simulation.learners.linear import Linear
from coterie_learning.plan import parse_plan
from coterie_learning.portions.trees import vote_trees
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError

TASK = Task((TensorSpec("x", "float32", (2, 3)),), 3)
PLAN = parse_plan({"help": {"kind": "cartel", "share": 0.6}})
TERMS = TransferTerms(classes=(2,), plan=PLAN, seed=5)
KINDS: tuple[LearnerKind, ...] = (Linear(step=0.05), Forest(trees=5, depth=4))
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def batch(classes: tuple[int, ...], seed: int, size: int = 30) -> Dataset:
    """Class c is bright in column c."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(classes, size)
    x = rng.normal(0, 0.2, (size, 2, 3)).astype(np.float32)
    x[np.arange(size), :, labels] += 1
    return Dataset({"x": x}, labels)


def trained(kind: LearnerKind, classes: tuple[int, ...], seed: int) -> Learner:
    learner = kind.begin(TASK, PLAN.local, seed=0)
    for number in range(8):
        learner = learner.learn(batch(classes, 100 * seed + number), seed=number)
    return learner


def found(learner: Learner, data: Dataset) -> NDArray[np.bool_]:
    hits: NDArray[np.bool_] = learner.predict(data.inputs).argmax(axis=1) == data.labels
    return hits


@every_kind
def test_it_learns_and_leaves_what_was_there(kind: LearnerKind) -> None:
    first = kind.begin(TASK, PLAN.local, seed=0)
    data = batch((0, 1, 2), 1)
    before = first.predict(data.inputs)
    assert before.shape == (30, 3)
    assert before.dtype == np.float32
    learner = trained(kind, (0, 1, 2), 2)
    assert found(learner, data).mean() > 0.9
    np.testing.assert_allclose(learner.predict(data.inputs).sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(first.predict(data.inputs), before)
    assert learner.size_bytes > 50


@every_kind
def test_the_same_seed_gives_the_same_model(kind: LearnerKind) -> None:
    data = batch((0, 1, 2), 1)
    one, other = (trained(kind, (0, 1), 2).predict(data.inputs) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@every_kind
def test_a_portion_brings_a_class_that_was_never_seen(kind: LearnerKind) -> None:
    helper, target = trained(kind, (0, 1, 2), 2), trained(kind, (0, 1), 3)
    data = batch((0, 1, 2), 9, size=60)
    new = data.labels == 2
    assert found(target, data)[new].mean() < 0.1
    payload = helper.portion(TERMS)
    assert payload == helper.portion(TERMS)
    merged = target.with_portion(payload, TERMS, batch((0, 1, 2), 8))
    assert found(merged, data)[new].mean() > 0.8
    assert found(merged, data)[~new].mean() > 0.8
    assert found(target, data)[new].mean() < 0.1, "the target itself is as it was"
    assert len(payload) < 1000


@every_kind
def test_a_spoilt_portion_is_refused(kind: LearnerKind) -> None:
    helper = trained(kind, (0, 1, 2), 2)
    with pytest.raises(WireError):
        helper.with_portion(helper.portion(TERMS)[:-1], TERMS, batch((0, 1), 1))


@every_kind
def test_without_cartel_nothing_is_handed_over(kind: LearnerKind) -> None:
    with pytest.raises(DoesNotFit):
        trained(kind, (0, 1), 2).portion(TransferTerms((0,), parse_plan({}), 0))


def test_a_forest_cannot_be_clipped() -> None:
    plan = parse_plan({"help": {"kind": "cartel"}, "privacy": {"kind": "clip"}})
    with pytest.raises(DoesNotFit):
        trained(KINDS[1], (0, 1), 2).portion(TransferTerms((0,), plan, 0))


def test_a_large_step_relearns_a_class_at_once_so_that_help_gains_nothing() -> None:
    """The negative control of Cartel on linear models."""
    for step, relearned in ((0.002, False), (0.2, True)):
        target = trained(Linear(step=step), (0, 1), 3).learn(batch((0, 1, 2), 8, size=50), seed=1)
        data = batch((2,), 9)
        assert (found(target, data).mean() > 0.9) == relearned


def test_a_tree_splits_no_deeper_than_it_may() -> None:
    data = batch((0, 1, 2), 1, size=100)
    x = data.inputs["x"].reshape(100, -1)
    for depth, most in ((0, 1), (1, 3), (2, 7)):
        tree = grow_tree(x, data.labels, depth=depth, rng=np.random.default_rng(0))
        assert len(tree.code) <= most
    deep = grow_tree(x, data.labels, depth=10, rng=np.random.default_rng(0))
    assert (vote_trees([deep], x)[0] == data.labels).mean() > 0.85


def test_samples_that_are_all_alike_make_a_leaf() -> None:
    tree = grow_tree(np.ones((4, 2), np.float32), np.array([0, 0, 0, 1]), depth=3, rng=np.random.default_rng(0))
    assert len(tree.code) == 1
