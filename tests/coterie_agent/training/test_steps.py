"""Tensors that stay where they are: a step counts once it is taken for good, and nobody else's memory is written to."""

import math

import numpy as np
import onnx.parser
import pytest

from coterie_agent.errors import AgentError
from coterie_agent.training.graph import Graph
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


WHOLE = {"weight": np.arange(4, dtype=np.float32)}


def looking_up(*, index: int) -> Steps:
    """A step whose loss is element `index` of a parameter [4], or one that is not there if the parameter is all NaN.

    Gradients of pooling look elements up so: by comparisons, of which none holds for NaN.
    """
    content = onnx.parser.parse_model(
        f"""
        <ir_version: 10, opset_import: ["" : 18]>
        look_up (float[4] weight) => (float loss, float[4] after) {{
            same = Equal (weight, weight)
            known = Cast <to = 7> (same)
            count = ReduceSum <keepdims = 0> (known)
            most = Constant <value_int = {4 + index}> ()
            index = Sub (most, count)
            loss = Gather (weight, index)
            after = Identity (weight)
        }}
        """
    )
    content.graph.node[-1].output[0] = content.graph.output[1].name = "next.weight"
    names = frozenset({"loss", "next.weight"})
    return Steps(Graph(content.SerializeToString(), inputs=frozenset(WHOLE), outputs=names, threads=1), WHOLE, {})


def test_an_operator_that_fails_on_parameters_that_are_not_finite_gives_a_loss_that_is_not_finite() -> None:
    steps = looking_up(index=2)
    assert steps.run({}) == 2
    steps.write({"weight": np.full(4, math.nan, np.float32)})
    assert math.isnan(steps.run({}))


def test_an_operator_that_fails_on_finite_parameters_is_a_broken_model() -> None:
    with pytest.raises(AgentError, match="the graph failed") as raised:
        looking_up(index=4).run({})
    assert raised.value.code == "model.broken"
