"""A program on another device than the one that it was exported on."""

import torch
from torch.fx import GraphModule

from coterie.compile.passes.copying import copy_graph


def made_on(program: GraphModule, device: torch.device) -> GraphModule:
    """A copy of `program` whose operators create their tensors on `device`: exported ones name the device of the
    export.

    It shares its stored tensors with `program`.
    """
    copy = copy_graph(program)
    for part in copy.modules():
        if isinstance(part, GraphModule):
            for node in part.graph.nodes:
                if node.kwargs.get("device") is not None:
                    node.update_kwarg("device", device)
                if node.target is torch.ops.aten.to.device:
                    node.update_arg(1, device)
            part.recompile()
    return copy
