"""Graphs whose run fails."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from coterie_agent.errors import AgentError
from coterie_agent.training.graph import Graph, value


def rows_of_a_table(last: int) -> Graph:
    """The rows of a table, from 0 to `last`, that `x` chooses."""
    given = helper.make_tensor_value_info("x", TensorProto.INT64, [None])
    table = helper.make_tensor("table", TensorProto.FLOAT, [last + 1, 1], np.zeros(last + 1, np.float32))
    found = helper.make_tensor_value_info("found", TensorProto.FLOAT, [None, 1])
    body = helper.make_graph([helper.make_node("Gather", ["table", "x"], ["found"])], "rows", [given], [found], [table])
    content = helper.make_model(body, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return Graph(content.SerializeToString(), inputs=frozenset({"x"}), outputs=frozenset({"found"}), threads=1)


def test_a_number_that_the_model_has_no_row_for_is_told_as_one_of_the_samples() -> None:
    graph = rows_of_a_table(19)
    assert graph.run(["found"], {"x": value(np.array([0, 19]))})[0].shape() == [2, 1]
    with pytest.raises(AgentError, match="a sample holds the whole number 20, the model knows 0 to 19") as caught:
        graph.run(["found"], {"x": value(np.array([0, 20]))})
    assert caught.value.code == "data.does_not_fit"


def test_any_other_failure_is_the_graphs() -> None:
    with pytest.raises(AgentError) as caught:
        rows_of_a_table(19).run(["found"], {"x": value(np.zeros((1, 2), np.float32))})
    assert caught.value.code == "model.broken"
