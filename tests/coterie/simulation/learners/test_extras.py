"""Extra learners beside a network: what all say together, and who stays."""

import numpy as np

from coterie.evaluation.datasets import Dataset
from coterie.simulation.learner import Task, TransferTerms
from coterie.simulation.learners.extras import NO_EXTRAS, Extra
from coterie.simulation.learners.neural import Neural, NeuralLearner
from coterie_learning.plan import parse_plan
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Float32, Tensors

LABELS = np.array([0, 0, 1, 1, 2, 2])
BLIND = np.eye(3, dtype=np.float32)[[0, 0, 1, 1, 0, 1]]
"""Of one who never saw class 2."""


def predict(parameters: Tensors) -> Float32:
    """Parameters are what they say."""
    return parameters["says"]


def says(labels: list[int]) -> Extra:
    return Extra({"says": np.eye(3, dtype=np.float32)[labels]}, (2,))


KNOWING = says([0, 0, 0, 0, 2, 2])


def test_an_extra_learner_adds_the_class_it_was_asked_for() -> None:
    extras = NO_EXTRAS.with_learner(KNOWING, BLIND, predict, LABELS)
    assert extras is not None
    assert extras.predict(BLIND, predict).argmax(axis=1).tolist() == LABELS.tolist()
    assert NO_EXTRAS.predict(BLIND, predict) is BLIND


def test_one_that_says_nothing_right_is_not_kept() -> None:
    assert NO_EXTRAS.with_learner(says([2, 2, 2, 2, 0, 0]), BLIND, predict, LABELS) is None


def test_one_is_dropped_when_it_fails_on_what_comes_later() -> None:
    extras = NO_EXTRAS.with_learner(KNOWING, BLIND, predict, LABELS)
    assert extras is not None
    sure = np.eye(3, dtype=np.float32)[LABELS]
    wrong = extras._replace(learners=(says([2, 2, 2, 2, 0, 0]),))
    assert wrong.weighed(sure, predict, LABELS) == NO_EXTRAS
    assert extras.weighed(BLIND, predict, LABELS) == extras


def test_a_network_keeps_a_whole_model_beside_its_own_or_distils_it() -> None:
    task = Task((TensorSpec("x", "float32", (2, 2)),), 3)
    plan = parse_plan(
        {
            "local": {"kind": "sgd", "learning_rate": 0.3, "epochs": 20},
            "codec": {"kind": "float32"},
            "help": {"kind": "cartel", "portion": "learner"},
        }
    )
    first = Neural(hidden=8, batch_size=10).begin(task, plan.local, seed=0)
    helper, target = (first.learn(_batch(classes), seed=1) for classes in ((0, 1, 2), (0, 1)))
    terms, window, fresh = TransferTerms((2,), plan, 0), _batch((0, 1, 2), seed=5), _batch((0, 1, 2), seed=6)
    merged = target.with_portion(helper.portion(terms), terms, window)
    assert len(merged.extras.learners) == 1
    assert _accuracy(target, fresh) < 0.8 < _accuracy(merged, fresh)
    misled = first.learn(Dataset(window.inputs, np.full(40, 2)), seed=1)
    distilled = target.with_portion(misled.portion(terms), terms, _batch((0, 1)))
    assert distilled.extras == NO_EXTRAS
    assert any(not np.array_equal(distilled.parameters[name], target.parameters[name]) for name in target.parameters)


def _batch(classes: tuple[int, ...], seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    labels = rng.choice(classes, 40)
    x = rng.normal(0, 0.2, (40, 2, 2)).astype(np.float32)
    x[np.arange(40), labels // 2, labels % 2] += 1
    return Dataset({"x": x}, labels)


def _accuracy(learner: NeuralLearner, data: Dataset) -> float:
    return float((learner.predict(data.inputs).argmax(axis=1) == data.labels).mean())
