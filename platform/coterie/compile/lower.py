"""From a graph of core ATen operators to an ONNX graph."""

import operator
from collections.abc import Mapping, Sequence

import onnx
import torch
from onnx import helper
from torch._ops import OpOverload
from torch.fx import GraphModule
from torch.fx.node import Argument, Node

from coterie.compile.advice import DEFAULT, advise
from coterie.compile.call import Call, Lowered, Lowering
from coterie.compile.emitter import ONNX_TYPES, Emitter
from coterie.compile.errors import UnsupportedOperator
from coterie.compile.node_places import place_of
from coterie.compile.operators import (
    bits,
    convolutions,
    elementwise,
    functions,
    indexing,
    matrices,
    noise,
    orders,
    pools,
    reductions,
    shapes,
)
from coterie.compile.stepping import LOOP, Looped

BODY = "body"
"""Key of a loop node's metadata for the graph of a step."""
SMALL = {torch.uint8, torch.int8}
COPIES = {
    f"aten.{name}"
    for name in (
        "alias.default",
        "cat.default",
        "clone.default",
        "constant_pad_nd.default",
        "detach.default",
        "expand.default",
        "flip.default",
        "full.default",
        "gather.default",
        "index.Tensor",
        "index_select.default",
        "_to_copy.default",
        "permute.default",
        "repeat.default",
        "reshape.default",
        "select.int",
        "slice.Tensor",
        "split.Tensor",
        "split_with_sizes.default",
        "squeeze.dim",
        "squeeze.dims",
        "transpose.int",
        "unbind.int",
        "unsqueeze.default",
        "view.default",
        "_unsafe_view.default",
        "where.self",
    )
}
"""Operators that copy numbers of any dtype and compute nothing."""

LOWERINGS: Mapping[str, Lowering] = {
    **elementwise.TABLE,
    **bits.TABLE,
    **functions.TABLE,
    **shapes.TABLE,
    **reductions.TABLE,
    **matrices.TABLE,
    **convolutions.TABLE,
    **pools.TABLE,
    **indexing.TABLE,
    **orders.TABLE,
    **noise.TABLE,
}


def lower(module: GraphModule, emit: Emitter, inputs: Sequence[str]) -> list[str]:
    """Emit the graph of `module`, whose placeholders are `inputs`; returns its outputs. Raises UnsupportedOperator."""
    values: dict[Node, Lowered] = {}
    remaining = iter(inputs)
    for node in module.graph.nodes:
        match node.op:
            case "placeholder":
                values[node] = next(remaining)
            case "get_attr":
                values[node] = emit.constant(_attribute(module, str(node.target)).detach().numpy())
            case "call_function" if node.target is LOOP:
                values[node] = _lower_loop(node, emit, values)
            case "call_function" if isinstance(node.meta.get("val"), (torch.Tensor, tuple, list)):
                values[node] = _lower_call(node, emit, values)
            case "output":
                (results,) = node.args
                return [_output(values[result]) for result in results]
    raise AssertionError("a graph ends with its output")


def _lower_loop(node: Node, emit: Emitter, values: Mapping[Node, Lowered]) -> Lowered:
    """The outputs of each step that are used."""
    loop = Looped(node)
    read = sorted({place for user in node.users if isinstance(place := user.args[1], int)})
    places = [place for place in read if place >= len(loop.state)]
    found = emit.loop(
        lambda given: lower(node.meta[BODY], emit, [*given, *(_output(values[tensor]) for tensor in loop.shared)]),
        [(_output(values[tensor]), _kind(tensor.meta["val"])) for tensor in loop.state],
        [(_output(values[tensor]), _kind(tensor.meta["val"], of_row=True)) for tensor in loop.sequences],
        places,
        reverse=loop.reverse,
    )
    everything = dict(zip((*range(len(loop.state)), *places), found, strict=True))
    return tuple(everything.get(place, "") for place in range(len(node.meta["val"])))


def _lower_call(node: Node, emit: Emitter, values: Mapping[Node, Lowered]) -> Lowered:
    if node.target is operator.getitem:
        source, index = node.args
        assert isinstance(source, Node)
        assert isinstance(index, int)
        return values[source][index]
    name = str(node.target).removeprefix("aten.")
    try:
        if name not in LOWERINGS:
            raise NotImplementedError(advise(name) or DEFAULT)
        _check_dtypes(node)
        return LOWERINGS[name](Call(emit, node, values, _arguments(node)))
    except NotImplementedError as error:
        raise UnsupportedOperator(operator=str(node.target), reason=str(error), **place_of(node).fields()) from error


def _check_dtypes(node: Node) -> None:
    value = node.meta["val"]
    for part in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(part, torch.Tensor) and part.dtype not in ONNX_TYPES:
            advice = "compute in float32, count in int64, and leave torch.autocast out"
            raise NotImplementedError(f"it gives {part.dtype}; {advice}")
        if isinstance(part, torch.Tensor) and part.dtype in SMALL and str(node.target) not in COPIES:
            raise NotImplementedError(f"runtimes do not compute in {part.dtype}; say x.float() or x.int() before")


def _arguments(node: Node) -> Mapping[str, Argument]:
    assert isinstance(node.target, OpOverload)
    given: dict[str, Argument] = {}
    for index, argument in enumerate(node.target._schema.arguments):
        if index < len(node.args):
            given[argument.name] = node.args[index]
        elif argument.name in node.kwargs:
            given[argument.name] = node.kwargs[argument.name]
        else:
            given[argument.name] = argument.default_value
    return given


def _kind(value: torch.Tensor, *, of_row: bool = False) -> onnx.TypeProto:
    sizes = [size if isinstance(size, int) else None for size in value.shape[of_row:]]
    return helper.make_tensor_type_proto(ONNX_TYPES[value.dtype], sizes)


def _attribute(module: GraphModule, path: str) -> torch.Tensor:
    value: object = module
    for part in path.split("."):
        value = getattr(value, part)
    assert isinstance(value, torch.Tensor)
    return value


def _output(value: Lowered) -> str:
    assert isinstance(value, str)
    return value
