"""Blocks under ``torch.no_grad`` are inlined into the surrounding graph, detached.

PyTorch exports such a block as a separate graph, which nothing else in a program is.
"""

import operator

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.node import Node

BLOCK = torch.ops.higher_order.wrap_with_set_grad_enabled


def detached_blocks(program: ExportedProgram) -> ExportedProgram:
    """Rewrite `program` in place, and return it. Nested blocks with gradients stay as they are."""
    module = program.graph_module
    for block in module.graph.find_nodes(op="call_function", target=BLOCK):
        enabled, inner, *operands = block.args
        if enabled:
            continue
        found = module.get_submodule(inner.target)
        assert isinstance(found, GraphModule)
        with module.graph.inserting_before(block):
            results = module.graph.graph_copy(
                found.graph, dict(zip(found.graph.find_nodes(op="placeholder"), operands, strict=True))
            )
        for part in list(block.users):
            assert part.target is operator.getitem
            _replace(program, part, results[part.args[1]])
        module.graph.erase_node(block)
        module.graph.erase_node(inner)
    module.delete_all_unused_submodules()
    module.recompile()
    return program


def _replace(program: ExportedProgram, part: Node, result: Node) -> None:
    with part.graph.inserting_before(part):
        detached = part.graph.call_function(torch.ops.aten.detach.default, (result,))
    detached.meta = part.meta
    part.replace_all_uses_with(detached)
    program.graph_signature.replace_all_uses(part.name, detached.name)
    part.graph.erase_node(part)
