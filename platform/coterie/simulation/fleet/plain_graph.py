"""Optimises a train step: removes terms that a plan does not use, and multiplies scalars with the smallest factor."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import onnx
from onnx import GraphProto, NodeProto

KEEPS_ZERO = frozenset({"Cast", "Concat", "Expand", "Identity", "Neg", "ReduceSum", "Reshape", "Split", "Transpose"})
"""Operators whose outputs are zero if all their inputs are."""
SHAPED_BY_SECOND = frozenset({"Expand", "ReduceSum", "Reshape", "Split"})
"""Operators among them whose other inputs are shapes or axes."""


class Shapes(NamedTuple):
    """The static shapes of a graph's values, by name."""

    by_name: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, model: onnx.ModelProto) -> "Shapes":
        """Shapes inferred by ONNX."""
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        values = (*inferred.input, *inferred.value_info, *inferred.output)
        found = {
            value.name: tuple(one.dim_value for one in value.type.tensor_type.shape.dim)
            for value in values
            if value.type.tensor_type.HasField("shape")
            and all(one.HasField("dim_value") for one in value.type.tensor_type.shape.dim)
        }
        return cls(found | {tensor.name: tuple(tensor.dims) for tensor in inferred.initializer})


def without_zeros(graph: GraphProto, shapes: Shapes, zeros: Collection[str]) -> Sequence[NodeProto]:
    """The nodes of `graph` without the terms that are zero because the inputs `zeros` are; results do not change.

    Exact for numbers that are finite: x + 0 is x, and 0 · x is 0.
    """
    zero, kept = set(zeros), []
    same: dict[str, str] = {}
    for node in graph.node:
        inputs = [same.get(name, name) for name in node.input]
        numbers = inputs[:1] if node.op_type in SHAPED_BY_SECOND else inputs
        if node.op_type == "Mul" and zero.intersection(inputs):
            zero.add(node.output[0])
        elif node.op_type in KEEPS_ZERO and zero.issuperset(numbers):
            zero.update(node.output)
        elif (other := _unchanged(node.op_type, inputs, zero)) is not None and _alike(shapes, other, node.output[0]):
            same[node.output[0]] = other
        copied = NodeProto()
        copied.CopyFrom(node)
        del copied.input[:]
        copied.input.extend(inputs)
        kept.append(copied)
    return [_producing(node, same, graph) for node in kept]


def early_products(nodes: Sequence[NodeProto], shapes: Shapes, outputs: Collection[str]) -> Sequence[NodeProto]:
    """Rewrite c · (A B) as (c A) B for input scalars c, where A is smaller than A B and A B has no other use.

    Results differ only by rounding.
    """
    uses = Counter([*outputs, *(name for node in nodes for name in node.input)])
    products = {node.output[0]: node for node in nodes if node.op_type in {"Gemm", "MatMul"} and len(node.input) == 2}
    computed, late = {name for node in nodes for name in node.output}, dict[str, tuple[str, str]]()
    for node in (node for node in nodes if node.op_type == "Mul"):
        for scalar, name in (node.input, node.input[::-1]):
            is_given = scalar not in computed and shapes.by_name.get(scalar) == ()
            if is_given and name in products and uses[name] == 1:
                first, out = (shapes.by_name.get(one) for one in (products[name].input[0], name))
                if first is not None and out is not None and math.prod(first) < math.prod(out):
                    late[name] = scalar, node.output[0]
    found, gone = list[NodeProto](), {output for _, output in late.values()}
    for node in nodes:
        if node.output[0] in late:
            scalar, output = late[node.output[0]]
            scaled = f"{output}.scaled"
            found.append(onnx.helper.make_node("Mul", [scalar, node.input[0]], [scaled]))
            copied = NodeProto()
            copied.CopyFrom(node)
            copied.input[0], copied.output[0] = scaled, output
            found.append(copied)
        elif node.output[0] not in gone:
            found.append(node)
    return found


def needed(nodes: Sequence[NodeProto], outputs: Collection[str]) -> Sequence[NodeProto]:
    """Those of `nodes` that `outputs` depend on, in their order."""
    wanted, found = set(outputs), []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            found.append(node)
    return found[::-1]


def _unchanged(operator: str, inputs: Sequence[str], zero: Collection[str]) -> str | None:
    """The input that a sum equals, since the other is zero."""
    if operator == "Add":
        first, second = inputs
        return second if first in zero else first if second in zero else None
    if operator == "Sub":
        return inputs[0] if inputs[1] in zero else None
    return None


def _alike(shapes: Shapes, one: str, other: str) -> bool:
    return one in shapes.by_name and shapes.by_name[one] == shapes.by_name.get(other)


def _producing(node: NodeProto, same: Mapping[str, str], graph: GraphProto) -> NodeProto:
    """A sum that equals one of its terms is that term still where the graph gives it by its name."""
    if node.output[0] in same and node.output[0] in {value.name for value in graph.output}:
        return onnx.helper.make_node("Identity", [same[node.output[0]]], list(node.output))
    return node
