"""Low-rank adapters beside the frozen linear layers of a program (Hu et al. 2022, arXiv 2106.09685)."""

import zlib
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import Graph
from torch.fx.node import Node

from coterie.compile.flat import Argument, FlatProgram
from coterie.compile.passes.copying import copy_graph
from coterie.compile.recipe.trains import Trains
from coterie.compile.recipe.trains.adapters import Adapters

LINEAR = "aten.linear.default"


class Adapted(NamedTuple):
    """A program with adapters, and the adapters' parameters."""

    program: FlatProgram
    parameters: Mapping[str, Tensor]


def adapt(program: ExportedProgram, flat: FlatProgram, trains: Trains) -> Adapted | None:
    """Every linear layer that `trains` adapts computes W x + b + (alpha / rank)·B A x; None where it adapts none.

    A is drawn as PyTorch draws linear layers' weights, the same for the same name; B is zero.
    """
    if not isinstance(trains, Adapters):
        return None
    module = copy_graph(flat.graph)
    graph = module.graph
    last = [node for node in graph.nodes if node.op == "placeholder"][-1]
    parameters: dict[str, Tensor] = {}
    places: dict[str, tuple[Node, Node]] = {}
    arguments: list[Argument] = list(flat.arguments)
    for node in list(graph.nodes):
        weight = node.args[1] if str(node.target) == LINEAR else None
        name = program.graph_signature.inputs_to_parameters.get(weight.name) if isinstance(weight, Node) else None
        if name is None or not trains.adapts(name):
            continue
        if name not in places:
            down, up = _matrices(name, tuple(program.state_dict[name].shape), trains.rank)
            parameters |= {f"{name}.lora_a": down, f"{name}.lora_b": up}
            with graph.inserting_after(last):
                first = graph.placeholder(f"{node.name}_lora_a")
            with graph.inserting_after(first):
                last = graph.placeholder(f"{node.name}_lora_b")
            arguments += [f"param.{name}.lora_a", f"param.{name}.lora_b"]
            places[name] = (first, last)
        _add_adapter(graph, node, places[name], trains.alpha / trains.rank)
    if not parameters:
        return None
    module.recompile()
    return Adapted(FlatProgram(module, tuple(arguments)), parameters)


def _add_adapter(graph: Graph, node: Node, matrices: tuple[Node, Node], weight: float) -> None:
    with graph.inserting_after(node):
        narrow = graph.call_function(torch.ops.aten.linear.default, (node.args[0], matrices[0]))
    with graph.inserting_after(narrow):
        wide = graph.call_function(torch.ops.aten.linear.default, (narrow, matrices[1]))
    with graph.inserting_after(wide):
        scaled = graph.call_function(torch.ops.aten.mul.Tensor, (wide, weight))
    with graph.inserting_after(scaled):
        total = graph.call_function(torch.ops.aten.add.Tensor, (node, scaled))
    node.replace_all_uses_with(total, delete_user_cb=lambda user: user is not total)
    for added in (narrow, wide, scaled, total):
        added.meta["nn_module_stack"] = node.meta.get("nn_module_stack")


def _matrices(name: str, shape: tuple[int, ...], rank: int) -> tuple[Tensor, Tensor]:
    """A [rank, in] and B [out, rank]."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    bound = shape[1] ** -0.5
    down = torch.empty(rank, shape[1]).uniform_(-bound, bound, generator=generator)
    return down, torch.zeros(shape[0], rank)
