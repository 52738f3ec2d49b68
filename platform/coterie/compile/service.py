"""Converts a program exported in training mode to evaluation mode."""

from collections.abc import Collection, Mapping

from torch.fx import GraphModule

from coterie.compile.averages import keep_buffers
from coterie.compile.draws import DRAWS, take_mean
from coterie.compile.passes.copying import copy_graph

IN_SERVICE: Mapping[str, tuple[int, bool | float]] = {
    "aten.dropout.default": (2, False),
    "aten.dropout_.default": (2, False),
    "aten.feature_dropout.default": (2, False),
    "aten.alpha_dropout.default": (2, False),
    "aten.feature_alpha_dropout.default": (2, False),
    "aten.scaled_dot_product_attention.default": (4, 0.0),
    "aten.gru.input": (6, False),
    "aten.lstm.input": (6, False),
    "aten.rnn_tanh.input": (6, False),
    "aten.rnn_relu.input": (6, False),
    "aten.batch_norm.default": (5, False),
}
"""By operator, the argument that differs between the modes, and its value in evaluation mode."""


def in_service(module: GraphModule, buffers: Collection[str] = ()) -> GraphModule:
    """A program without dropout, with constant running statistics, and with means of draws.

    `buffers` are the placeholders of buffers, which training may write to. Raises UnsupportedOperator where the mean of
    a draw does not give the result's mean.
    """
    copy = copy_graph(module)
    keep_buffers(copy.graph, buffers)
    for node in copy.graph.nodes:
        if str(node.target) in IN_SERVICE:
            position, value = IN_SERVICE[str(node.target)]
            if len(node.args) > position:
                node.update_arg(position, value)
        elif str(node.target) in DRAWS:
            take_mean(node)
    copy.recompile()
    return copy
