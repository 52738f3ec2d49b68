"""Tensors that stay where they are: a step counts once it is taken for good, and nobody else's memory is written to."""

import numpy as np
import pytest

from coterie_agent.training.steps import Steps
from coterie_agent.training.trainer import train_graph
from tests.coterie_agent.bundles import BATCH, CLASSES, SIDE, SPEC, parameters, train_step_graph

STATE = {
    **{f"param.{name}": tensor for name, tensor in parameters().items()},
    **{slot.name: np.zeros(slot.shape, np.float32) for slot in SPEC.optimiser_state},
}
FIXED = {
    **{f"anchor.{name}": tensor for name, tensor in parameters().items()},
    "teacher": np.zeros((BATCH, CLASSES), np.float32),
}
GIVEN = {
    "pixels": np.ones((BATCH, SIDE, SIDE), np.float32),
    "target": np.zeros(BATCH, np.int64),
    "sample_weight": np.ones(BATCH, np.float32),
    **{
        name: np.array(number, np.float32)
        for name, number in (
            ("learning_rate", 0.1),
            ("momentum", 0.5),
            ("proximal_weight", 0),
            ("distillation_weight", 0),
        )
    },
}


@pytest.fixture
def steps() -> Steps:
    return Steps(train_graph(train_step_graph(), SPEC, threads=1), STATE, FIXED)


def test_a_step_counts_once_it_is_advanced(steps: Steps) -> None:
    first = steps.run(GIVEN)
    assert steps.run(GIVEN) == first
    steps.advance()
    assert steps.run(GIVEN) < first


def test_what_was_read_and_what_was_given_stays(steps: Steps) -> None:
    given = {name: tensor.copy() for name, tensor in STATE.items()}
    start = steps.read("param.weight")
    for _ in range(3):
        steps.run(GIVEN)
        steps.advance()
    np.testing.assert_array_equal(start, given["param.weight"])
    assert not np.array_equal(steps.read("param.weight"), start)
    for name, tensor in given.items():
        np.testing.assert_array_equal(STATE[name], tensor)


def test_what_is_frozen_is_never_changed() -> None:
    graph = train_graph(train_step_graph(), SPEC, threads=1)
    steps = Steps(graph, STATE, FIXED, frozen=frozenset({"param.weight"}))
    for _ in range(2):
        steps.run(GIVEN)
        steps.advance()
    np.testing.assert_array_equal(steps.read("param.weight"), STATE["param.weight"])
    assert not np.array_equal(steps.read("param.bias"), STATE["param.bias"])


def test_goes_on_from_what_is_written(steps: Steps) -> None:
    first = steps.run(GIVEN)
    steps.advance()
    steps.write(STATE)
    assert steps.run(GIVEN) == first


def test_what_it_is_given_need_not_be_kept(steps: Steps) -> None:
    weights = np.ones(BATCH, np.float32)
    first = steps.run({**GIVEN, "sample_weight": weights})
    weights[:] = 7
    others = {name: tensor for name, tensor in GIVEN.items() if name != "sample_weight"}
    assert steps.run(others) == first


def test_both_directions_take_what_is_given_anew(steps: Steps) -> None:
    still = {**GIVEN, "learning_rate": np.array(0, np.float32)}
    first = steps.run(still)
    steps.advance()
    assert steps.run(still) == first
    steps.advance()
    assert steps.run({**still, "target": np.ones(BATCH, np.int64)}) != first
