"""Pool first, then rectify: the same values and gradients, with a fraction of the elements to rectify.

Both are monotone, so they commute. Where elements tie because they were rectified, their gradient is zero either way.
"""

import torch
from torch.fx import GraphModule
from torch.fx.node import Node

from coterie.compile.passes.copying import copy_graph

aten = torch.ops.aten

POOLS = {aten.max_pool1d.default, aten.max_pool2d.default, aten.max_pool3d.default}
RECTIFIERS = {aten.relu.default, aten.relu_.default}


def pool_before_relu(program: GraphModule) -> GraphModule:
    """A copy in which no max-pool follows a ReLU that nothing else uses."""
    module = copy_graph(program)
    for pool in module.graph.nodes:
        rectifier = pool.args[0] if pool.target in POOLS else None
        if isinstance(rectifier, Node) and rectifier.target in RECTIFIERS and _is_only_user(rectifier):
            _swap(rectifier, pool)
    return module


def _is_only_user(rectifier: Node) -> bool:
    """Whether only the pool uses the result; an in-place ReLU shows it to every user of its input."""
    (source,) = rectifier.all_input_nodes
    return len(rectifier.users) == 1 and (rectifier.target is aten.relu.default or len(source.users) == 1)


def _swap(rectifier: Node, pool: Node) -> None:
    (source,) = rectifier.all_input_nodes
    pool.replace_input_with(rectifier, source)
    graph = pool.graph
    with graph.inserting_after(pool):
        rectified = graph.call_function(aten.relu.default, (pool,))
    rectified.meta = {**rectifier.meta, "val": pool.meta.get("val")}
    pool.replace_all_uses_with(rectified, delete_user_cb=lambda user: user is not rectified)
    graph.erase_node(rectifier)
