"""Blocks under ``torch.autocast`` that have no effect are inlined into the surrounding graph; others are refused.

PyTorch exports such a block as a separate graph. One that is disabled, or for another device than the CPU, computes
here in float32 as if it were not there.
"""

import operator

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.node import Node

from coterie.compile.advice import ADVICE
from coterie.compile.errors import UnsupportedOperator
from coterie.compile.node_places import place_of
from coterie.compile.source_locations import SourceLocation

BLOCK = torch.ops.higher_order.wrap_with_autocast


def without_autocast(program: ExportedProgram, owner: str = "") -> ExportedProgram:
    """Rewrite `program` in place, and return it.

    Raises UnsupportedOperator where a block computes in half precision; errors take `owner` for the path of the whole.
    """
    module = program.graph_module
    for block in module.graph.find_nodes(op="call_function", target=BLOCK):
        device, _, enabled, _, inner, *operands = block.args
        found = module.get_submodule(inner.target)
        assert isinstance(found, GraphModule)
        if enabled and device == "cpu":
            place = _place(found, block).within(owner)
            raise UnsupportedOperator(operator="torch.autocast", reason=ADVICE["wrap_with_autocast"], **place.fields())
        with module.graph.inserting_before(block):
            results = module.graph.graph_copy(
                found.graph, dict(zip(found.graph.find_nodes(op="placeholder"), operands, strict=True))
            )
        for part in list(block.users):
            assert part.target is operator.getitem
            result = results[part.args[1]]
            part.replace_all_uses_with(result)
            program.graph_signature.replace_all_uses(part.name, result.name)
            module.graph.erase_node(part)
        module.graph.erase_node(block)
        module.graph.erase_node(inner)
    module.delete_all_unused_submodules()
    module.recompile()
    return program


def _place(inner: GraphModule, block: Node) -> SourceLocation:
    """The location of the first operator within that has a line."""
    operators = (node for node in inner.graph.nodes if node.op == "call_function" and "stack_trace" in node.meta)
    return place_of(next(operators, block))
