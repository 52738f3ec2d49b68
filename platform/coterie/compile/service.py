"""How a program that was exported in training behaves in service."""

from collections.abc import Collection, Mapping

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule
from torch.fx.node import Node

from coterie.compile.advice import ADVICE
from coterie.compile.averages import keep_buffers
from coterie.compile.errors import UnsupportedOperator
from coterie.compile.node_places import place_of
from coterie.compile.passes.copying import copy_graph

aten = torch.ops.aten

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
"""By operator, the argument that differs between training and service, and its value in service."""

MEANS: Mapping[object, OpOverload] = {
    aten.bernoulli.default: aten.clone.default,
    aten.bernoulli.p: aten.full_like.default,
    aten.bernoulli_.float: aten.fill_.Scalar,
    aten.bernoulli_.Tensor: aten.copy_.default,
}
"""By operator that draws ones and zeros, the operator that gives their mean from the same arguments."""
DRAWS = {*MEANS, aten.rand.default, aten.rand_like.default}
EVEN = 0.5
"""The share that `bernoulli_` draws where none is given."""
SCALED = {
    f"aten.{name}"
    for name in (
        "mul.Tensor",
        "mul_.Tensor",
        "div.Tensor",
        "div_.Tensor",
        "view.default",
        "reshape.default",
        "unsqueeze.default",
        "expand.default",
        "to.dtype",
        "_to_copy.default",
        "clone.default",
    )
}
"""What may be done to a draw, so that with its mean the result has its mean, too."""


def in_service(module: GraphModule, buffers: Collection[str] = ()) -> GraphModule:
    """A program without dropout, with the statistics that were gathered and no longer change, and with means of draws.

    `buffers` are the placeholders of buffers, which training may write to.

    Stochastic depth (Huang et al. 2016, arXiv 1603.09382) multiplies a branch by a draw, and in service by its mean.
    Raises UnsupportedOperator where the mean of a draw does not stand for it.
    """
    copy = copy_graph(module)
    keep_buffers(copy.graph, buffers)
    for node in copy.graph.nodes:
        if str(node.target) in IN_SERVICE:
            position, value = IN_SERVICE[str(node.target)]
            if len(node.args) > position:
                node.update_arg(position, value)
        elif node.target in DRAWS:
            _take_mean(node)
    copy.recompile()
    return copy


def _take_mean(draw: Node) -> None:
    if draw.target not in MEANS or not _scales(draw):
        raise UnsupportedOperator(operator=str(draw.target), reason=ADVICE["rand"], **place_of(draw).fields())
    share = draw.args[1:2] or ((EVEN,) if draw.target is aten.bernoulli_.float else ())
    draw.target, draw.args, draw.kwargs = MEANS[draw.target], (draw.args[0], *share), {}


def _scales(draw: Node) -> bool:
    """Whether something is multiplied by the draw, and nothing else is done with it."""
    for user in draw.users:
        if str(user.target) not in SCALED:
            return False
        joined = len(user.all_input_nodes) > 1
        if not joined and not _scales(user):
            return False
    return True
