"""Steps on the same arrays are the steps that a session makes of new ones."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from coterie.evaluation.scoring import open_session
from coterie.simulation.fleet.in_place import InPlace

DEVICES = 3


def a_step() -> bytes:
    """Parameter p and state v of each device: v' = v + x, p' = p - lr · v', and the loss p · x."""
    given = {name: [DEVICES] for name in ("x", "p", "v")} | {"lr": []}
    after = {name: [DEVICES] for name in ("loss", "next.p", "next.v")}
    nodes = [
        helper.make_node("Add", ["v", "x"], ["next.v"]),
        helper.make_node("Mul", ["lr", "next.v"], ["change"]),
        helper.make_node("Sub", ["p", "change"], ["next.p"]),
        helper.make_node("Mul", ["p", "x"], ["loss"]),
    ]
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in values.items()]
        for values in (given, after)
    )
    graph = helper.make_graph(nodes, "step", inputs, outputs)
    return onnx.ModelProto.SerializeToString(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    )


def test_steps_on_the_same_arrays_give_the_same_bits() -> None:
    rng, session = np.random.default_rng(0), open_session(a_step())
    begun = {name: rng.standard_normal(DEVICES, np.float32) for name in ("p", "v")}
    expected = {name: array.copy() for name, array in begun.items()}
    given = {"x": np.empty(DEVICES, np.float32), "lr": np.empty((), np.float32)}
    losses = np.empty(DEVICES, np.float32)
    steps = InPlace(session, given, begun, {"p": "next.p", "v": "next.v"}, losses)
    used = set[int]()
    for number in range(5):
        given["x"][...], given["lr"][...] = rng.standard_normal(DEVICES, np.float32), 0.1 * number
        loss, *after = session.run(["loss", "next.p", "next.v"], {**given, **expected})
        expected = dict(zip(("p", "v"), after, strict=True))
        steps.run()
        np.testing.assert_array_equal(losses, loss)
        for name, array in expected.items():
            np.testing.assert_array_equal(steps.state[name], array)
        used |= {id(array) for array in steps.state.values()}
    assert len(used) == 2 * len(begun), "nothing is allocated between steps"
