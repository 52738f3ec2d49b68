"""Scalars are multiplied where there are fewest numbers, and only where nobody else sees the difference."""

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper

from coterie.evaluation.scoring import open_session
from coterie.simulation.fleet.plain_graph import Shapes, early_products

SMALL, LARGE = 2, 5
PRODUCT = helper.make_node("Gemm", ["a", "b"], ["product"], transA=1)
SCALED = helper.make_node("Mul", ["c", "product"], ["scaled"])
LATER = helper.make_node("Mul", ["d", "product"], ["scaled"])


def a_graph(nodes: list[NodeProto], *, few: int, outputs: list[str]) -> onnx.ModelProto:
    """Of a [few, LARGE] and b [few, LARGE], transposed a times b."""
    shapes: dict[str, list[int]] = {"a": [few, LARGE], "b": [few, LARGE], "c": []}
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    found = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [LARGE, LARGE]) for name in outputs]
    graph = helper.make_graph(nodes, "graph", given, found)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_scalar_goes_to_the_smaller_factor() -> None:
    model = a_graph([PRODUCT, SCALED], few=SMALL, outputs=["scaled"])
    nodes = early_products(model.graph.node, Shapes.of(model), ["scaled"])
    assert [(node.op_type, list(node.input)) for node in nodes] == [
        ("Mul", ["c", "a"]),
        ("Gemm", ["scaled.scaled", "b"]),
    ]
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, SMALL, LARGE), np.float32)
    (found,) = open_session(a_graph(list(nodes), few=SMALL, outputs=["scaled"]).SerializeToString()).run(
        None, {"a": a, "b": b, "c": np.array(0.3, np.float32)}
    )
    np.testing.assert_allclose(found, np.float32(0.3) * (a.T @ b), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("nodes", "few", "outputs"),
    [
        ([PRODUCT, SCALED], LARGE + 1, ["scaled"]),
        ([PRODUCT, SCALED], SMALL, ["scaled", "product"]),
        ([PRODUCT, SCALED, helper.make_node("Add", ["product", "scaled"], ["sum"])], SMALL, ["sum"]),
        ([PRODUCT, helper.make_node("Neg", ["c"], ["d"]), LATER], SMALL, ["scaled"]),
    ],
    ids=["no smaller factor", "an output too", "used again", "a scalar that is computed later"],
)
def test_it_stays_where_it_is(nodes: list[NodeProto], few: int, outputs: list[str]) -> None:
    model = a_graph(nodes, few=few, outputs=outputs)
    assert list(early_products(model.graph.node, Shapes.of(model), outputs)) == list(model.graph.node)
