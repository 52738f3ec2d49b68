"""The train step of many devices gives what the train step of one gives to each."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from coterie.evaluation.scoring import open_session
from coterie.simulation.bodies import Body
from coterie.simulation.fleet.device_axis import Unsupported, for_many_devices
from coterie_wire.contract import train_inputs
from tests.coterie.simulation.fleet.fleets import CLASSES, IMAGE, compiled

DEVICES, SIZE = 3, 5
ZEROS = ("momentum", "proximal_weight", "distillation_weight")


def feeds(body: Body, *, momentum: float, pull: float) -> dict[str, np.ndarray]:
    """Of each device all inputs [DEVICES, ...], scalars as they are."""
    rng, spec = np.random.default_rng(1), compiled(body).spec
    scalars = {"learning_rate": 0.1, "momentum": momentum, "proximal_weight": pull, "distillation_weight": 0.0}
    found: dict[str, np.ndarray] = {name: np.asarray(number, np.float32) for name, number in scalars.items()}
    for name, one in train_inputs(spec).items():
        if name in scalars:
            continue
        found[name] = rng.normal(0, 0.3, (DEVICES, *one.shape)).astype(np.float32)
    found["target"] = rng.integers(0, CLASSES, (DEVICES, SIZE))
    found["sample_weight"] = (np.arange(SIZE) < np.array([[5], [3], [1]])).astype(np.float32)
    found["x"] = rng.normal(0, 1, (DEVICES, SIZE, *IMAGE)).astype(np.float32)
    return found


@pytest.mark.parametrize("body", ["mlp", "cnn"])
@pytest.mark.parametrize(("momentum", "pull"), [(0.0, 0.0), (0.9, 0.0), (0.5, 0.3)])
def test_each_device_gets_its_own_step(body: Body, momentum: float, pull: float) -> None:
    model, given = compiled(body), feeds(body, momentum=momentum, pull=pull)
    spec = model.spec
    parameters, state = [f"param.{one.name}" for one in spec.parameters], [one.name for one in spec.optimiser_state]
    state = state if momentum else []
    zeros = [name for name in ZEROS if not given[name]]
    outputs = ["loss", *(f"next.{name}" for name in (*parameters, *state))]
    anchors = [f"anchor.{one.name}" for one in spec.parameters]
    made = for_many_devices(
        model.train_step,
        differ={"x", "target", "sample_weight", *parameters, *state, *anchors},
        outputs=outputs,
        zeros=zeros,
    )
    together = open_session(made.graph).run(outputs, {name: given[name] for name in made.inputs})
    alone = open_session(model.train_step)
    for device in range(DEVICES):
        own = {name: one[device] if one.ndim else one for name, one in given.items()}
        own |= {name: np.zeros_like(own[name]) for name in own if name.startswith("velocity.") and not momentum}
        expected = alone.run(outputs, own)
        for name, one, other in zip(outputs, expected, together, strict=True):
            np.testing.assert_allclose(other[device], one, rtol=1e-4, atol=1e-6, err_msg=f"{name} of {device}")


def test_terms_that_weigh_nothing_are_left_out() -> None:
    model = compiled()
    outputs = [f"next.param.{one.name}" for one in model.spec.parameters]
    differ = {"x", "target", "sample_weight", *(f"param.{one.name}" for one in model.spec.parameters)}
    made = for_many_devices(model.train_step, differ=differ, outputs=outputs, zeros=ZEROS)
    assert made.inputs == differ | {"learning_rate"}


def test_an_operator_without_a_rule_is_named() -> None:
    graph = helper.make_graph(
        [helper.make_node("Det", ["a"], ["b"])],
        "g",
        [helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 2])],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, [])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    onnx.checker.check_model(model)
    with pytest.raises(Unsupported, match="Det"):
        for_many_devices(model.SerializeToString(), differ={"a"}, outputs=["b"], zeros=())
