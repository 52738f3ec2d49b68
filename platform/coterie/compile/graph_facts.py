"""Which operators an ONNX graph has, and how fast this machine runs the most usual of them."""

import statistics
import time
from collections import Counter
from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper

from coterie.compile.emitter import IR_VERSION, OPSET, every_node
from coterie.evaluation.scoring import open_session

SIDE = 384
PRODUCTS = 7


def operators_of(graph: bytes) -> Mapping[str, int]:
    """How often each operator occurs in a serialised model, in the bodies of loops as well; the most frequent first."""
    nodes = every_node(onnx.load_model_from_string(graph).graph.node)
    return dict(Counter(node.op_type for node in nodes).most_common())


def measure_gflops() -> float:
    """Float32 matrix products of onnxruntime on one thread of this machine, in 10^9 operations a second."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [SIDE, SIDE]) for name in ("a", "b", "product")]
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["product"])], "product", values[:2], values[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    session = open_session(model.SerializeToString())
    factor = np.random.default_rng(0).random((SIDE, SIDE), np.float32)
    times = []
    for _ in range(PRODUCTS):
        started = time.perf_counter()
        session.run(None, {"a": factor, "b": factor})
        times.append(time.perf_counter() - started)
    return 2 * SIDE**3 / statistics.median(times) / 1e9
