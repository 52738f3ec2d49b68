"""The last state of a recurrent layer is taken from the layer's output of that name.

Otherwise the gradient would pass through zeros for all other steps.
"""

import operator
import sys

import torch
from torch.fx import GraphModule
from torch.fx.node import Node

from coterie.compile.passes.copying import copy_graph
from coterie.compile.whole_layers import SHAPES

aten = torch.ops.aten

LAST_OPTIONS = 2
"""The last two arguments of a layer are `bidirectional` and `batch_first`."""


def last_state(program: GraphModule) -> GraphModule:
    """A copy in which nodes that read the last step of a layer's states read its last state."""
    module = copy_graph(program)
    for node in module.graph.nodes:
        layer = _layer_whose_last_step(node)
        if layer is None:
            continue
        with module.graph.inserting_before(node):
            ends = module.graph.call_function(operator.getitem, (layer, 1))
        ends.meta = {**layer.meta, "val": layer.meta["val"][1]}
        node.args = (ends, 0, -1)
    module.graph.eliminate_dead_code()
    return module


def _layer_whose_last_step(node: Node) -> Node | None:
    """The layer of which `node` selects the last step, if it runs forwards only."""
    if node.target is not aten.select.int:
        return None
    states, axis, index = node.args
    while isinstance(states, Node) and states.target is aten.slice.Tensor and states.args[2:] == (0, sys.maxsize):
        states = states.args[0]  # all of it
    if not isinstance(states, Node) or states.target is not operator.getitem or states.args[1] != 0:
        return None
    layer = states.args[0]
    if not isinstance(layer, Node) or layer.target not in SHAPES:
        return None
    bidirectional, batch_first = layer.args[-LAST_OPTIONS:]
    steps = 1 if batch_first else 0
    return layer if not bidirectional and axis == steps and index == -1 else None
