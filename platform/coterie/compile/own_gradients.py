"""Finds what a `torch.autograd.Function` computed, whose own gradient `torch.export` leaves out in silence.

Of a function's call a program keeps the operators of its ``forward``, whose lines stand in their stack traces. Modules
have methods called ``forward`` as well, but each of those is an entry of an operator's module stack.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx.node import Node

from coterie.compile.errors import NoGradient
from coterie.compile.explanations import OWN_GRADIENT
from coterie.compile.node_places import place_of
from coterie.compile.source_locations import Frame, frames_of

aten = torch.ops.aten
APPLIED = re.compile(r"(\w+)\.apply\(")
STEPS = {"aten.ceil", "aten.floor", "aten.heaviside", "aten.round", "aten.sgn", "aten.sign", "aten.trunc"}
"""Operators whose gradient is 0, for which such functions are mostly written."""
COMPARISONS = {"aten.ge", "aten.gt", "aten.le", "aten.lt"}


def refuse_own_gradients(program: ExportedProgram, owner: str = "", *, of_inputs: bool = False) -> None:
    """Raises NoGradient where a gradient reaches such a function; the error takes `owner` for the path of the whole.

    Gradients go to parameters, and to inputs where it says `of_inputs`. Functions that are called by another name, or
    by a function of the model, are found where they return what they were given or take a step; others cannot be told
    from modules that are no part of the model.
    """
    signature = program.graph_signature
    reached = {*signature.inputs_to_parameters, *(signature.user_inputs if of_inputs else ())}
    for node in program.graph.nodes:
        if node.target is aten.detach.default or not any(source.name in reached for source in node.all_input_nodes):
            continue
        reached.add(node.name)
        if node.op == "call_function" and (name := _function(node)):
            raise NoGradient(detail=OWN_GRADIENT.format(name), **place_of(node).within(owner).fields())


def _function(node: Node) -> str | None:
    """The name of the function that computed `node`, or words for it; None where none did."""
    forwards = _forwards(node)
    if node.target is aten.view_as.default and node.args[0] is node.args[1]:  # how PyTorch returns an input
        return _applied(forwards[-1:]) or "this view"
    if len(forwards) <= len(node.meta.get("nn_module_stack", {})):
        return None
    callers = [caller for caller, called in pairwise(forwards) if called.is_the_users]
    if name := _applied(callers):
        return name
    is_unknown = callers and forwards[-1].is_the_users and "forward" not in forwards[-2].text
    return "this step" if is_unknown and _takes_a_step(node) else None


def _forwards(node: Node) -> list[Frame]:
    return [frame for frame in frames_of(node.meta.get("stack_trace") or "") if frame.function == "forward"]


def _applied(callers: Sequence[Frame]) -> str | None:
    return next((found[1] for caller in callers if (found := APPLIED.search(caller.text))), None)


def _takes_a_step(node: Node) -> bool:
    """Whether it rounds, or returns the truth of a comparison as a number."""
    operator = _operator(node)
    if operator in STEPS:
        return _is_floating_point(node.args[0])
    compared = node.all_input_nodes[0]
    if _operator(compared) not in COMPARISONS or not _is_floating_point(node):
        return False
    return not any(_in_one_call(node, user) for user in node.users)


def _in_one_call(node: Node, other: Node) -> bool:
    """Whether `other` was computed within the innermost ``forward`` that computed `node`."""
    (*callers, innermost), there = _forwards(node), _forwards(other)
    place = len(callers)
    return there[:place] == callers and there[place:] != [] and there[place].file == innermost.file


def _operator(node: Node) -> str:
    return str(node.target).rpartition(".")[0].removesuffix("_")


def _is_floating_point(node: object) -> bool:
    return isinstance(node, Node) and isinstance(value := node.meta.get("val"), Tensor) and value.is_floating_point()
