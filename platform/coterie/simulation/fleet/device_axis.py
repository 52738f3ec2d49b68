"""Vectorises a train step over devices: each operator of the ONNX graph gets a leading device axis.

This is `torch.vmap` for the graph that devices run. Values that differ between devices get a leading axis of any size;
scalars, constants and shared values stay unchanged. Operators that do not support such an axis and treat samples
independently, such as pooling, get devices and samples as one axis. A graph with an operator that has no rule here is
refused, and its devices are trained one by one.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from coterie.simulation.fleet.plain_graph import Shapes, early_products, needed, without_zeros

DEVICES = "devices"
Attribute = int | Sequence[int]
ELEMENTWISE = frozenset(
    {
        *("Abs", "Add", "And", "Cast", "Clip", "Cos", "Div", "Elu", "Equal", "Erf", "Exp", "Floor", "Greater"),
        *("GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max"),
        *("Min", "Mish", "Mul", "Neg", "Not", "Or", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign"),
        *("Sin", "Softplus", "Softsign", "Sqrt", "Sub", "Tanh", "ThresholdedRelu", "Where", "Xor"),
    }
)
REDUCING = frozenset(["ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"])
ALONG_AN_AXIS = frozenset(["ArgMax", "ArgMin", "Concat", "LogSoftmax", "Softmax", "Split"])
BY_SAMPLE = frozenset(["AveragePool", "Conv", "GlobalAveragePool", "MaxPool", "Resize"])
"""Operators whose first input has independent samples as its first axis; their other inputs must be shared."""


class Unsupported(Exception):
    """An operator has no rule for an axis of devices."""


class Batched(NamedTuple):
    """A train step for many devices."""

    graph: bytes
    inputs: frozenset[str]
    """All inputs; those that differ between devices have a leading device axis."""


def for_many_devices(
    train_step: bytes, *, differ: Collection[str], outputs: Sequence[str], zeros: Collection[str]
) -> Batched:
    """`train_step` with a device axis on the inputs `differ` that it has, and on all `outputs`.

    `zeros` are inputs that are always zero, whose terms are removed. Raises Unsupported.
    """
    model = onnx.load_from_string(train_step)
    shapes = Shapes.of(model)
    nodes = early_products(needed(without_zeros(model.graph, shapes, zeros), outputs), shapes, outputs)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    differ = {value.name for value in model.graph.input if value.name in differ}
    rewriting = _Rewriting(shapes, constants, frozenset(differ))
    for node in nodes:
        rewriting.add(node)
    finals = [rewriting.final(name) for name in outputs]
    used = {name for node in rewriting.nodes for name in node.input}
    given = [value for value in model.graph.input if value.name in used]
    graph = helper.make_graph(
        [*rewriting.nodes, *finals],
        "train_step_of_devices",
        [_value(value, value.name in differ) for value in given],
        [_value(value, batched=True) for name in outputs for value in model.graph.output if value.name == name],
        [tensor for tensor in model.graph.initializer if tensor.name in used]
        + [numpy_helper.from_array(array, name) for name, array in rewriting.made.items()],
    )
    made = helper.make_model(graph, opset_imports=list(model.opset_import), ir_version=model.ir_version)
    return Batched(made.SerializeToString(), frozenset(value.name for value in given))


class _Rewriting:
    def __init__(
        self, shapes: Shapes, constants: dict[str, np.ndarray[Any, np.dtype[Any]]], differ: frozenset[str]
    ) -> None:
        self._shapes, self._constants, self._batched = shapes, constants, set(differ)
        self._any = next(iter(sorted(differ)))
        self.nodes: list[NodeProto] = []
        self.made: dict[str, np.ndarray[Any, np.dtype[Any]]] = {}
        self._count: str | None = None

    def add(self, node: NodeProto) -> None:
        """Add the node, with the axis if one of its inputs has it."""
        if not any(name in self._batched for name in node.input):
            self.nodes.append(node)
            return
        operator = node.op_type
        if operator in ELEMENTWISE:
            self._elementwise(node)
        elif operator in REDUCING:
            self._reduce(node)
        elif operator in ALONG_AN_AXIS:
            self._along(node)
        elif operator in BY_SAMPLE:
            self._by_sample(node)
        else:
            rule = RULES.get(operator)
            if rule is None:
                raise Unsupported(operator)
            rule(self, node)
        self._batched.update(node.output)

    def final(self, name: str) -> NodeProto:
        """The output of that name."""
        inner = f"devices.{name}"
        for node in self.nodes:
            for names in (node.input, node.output):
                for place, one in enumerate(names):
                    if one == name:
                        names[place] = inner
        if name not in self._batched:
            raise Unsupported(f"{name} does not depend on the device")
        return helper.make_node("Identity", [inner], [name])

    def _emit(self, operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Attribute) -> str:
        given: dict[str, Any] = dict(attributes)
        self.nodes.append(helper.make_node(operator, list(inputs), list(outputs), **given))
        return outputs[0]

    def _new(self, what: str) -> str:
        return f"{DEVICES}.{what}.{len(self.nodes)}"

    def _constant(self, numbers: Sequence[int]) -> str:
        name = f"{DEVICES}.constant.{len(self.made)}"
        self.made[name] = np.asarray(numbers, np.int64)
        return name

    def _shape(self, name: str) -> tuple[int, ...]:
        if name not in self._shapes.by_name:
            raise Unsupported(f"the shape of {name} is not known")
        return self._shapes.by_name[name]

    def _numbers(self, name: str) -> list[int]:
        if name not in self._constants:
            raise Unsupported(f"{name} is computed")
        return [int(one) for one in self._constants[name].reshape(-1)]

    def _reshaped(self, name: str, shape: Sequence[int]) -> str:
        return self._emit("Reshape", [name, self._constant(shape)], [self._new("reshaped")])

    def _ranked(self, name: str, rank: int) -> str:
        """`name` with axes of size 1 after the device axis, so that it broadcasts with values of this rank."""
        shape = self._shape(name)
        if name not in self._batched or len(shape) >= rank:
            return name
        return self._reshaped(name, [0, *[1] * (rank - len(shape)), *shape])

    def _copied(self, node: NodeProto, inputs: Sequence[str], **changed: Attribute) -> None:
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute} | changed
        self.nodes.append(helper.make_node(node.op_type, list(inputs), list(node.output), **attributes))

    def _elementwise(self, node: NodeProto) -> None:
        rank = max(len(self._shape(name)) for name in node.input if name)
        self._copied(node, [self._ranked(name, rank) if name else name for name in node.input])

    def _reduce(self, node: NodeProto) -> None:
        rank = len(self._shape(node.input[0]))
        axes = self._numbers(node.input[1]) if len(node.input) > 1 and node.input[1] else list(range(rank))
        if not axes:
            raise Unsupported(node.op_type)
        self._copied(node, [node.input[0], self._constant([axis % rank + 1 for axis in axes])])

    def _along(self, node: NodeProto) -> None:
        rank = len(self._shape(node.input[0]))
        default = {"LogSoftmax": -1, "Softmax": -1}.get(node.op_type, 0)
        axis = next((one.i for one in node.attribute if one.name == "axis"), default)
        inputs = list(node.input)
        if node.op_type == "Concat":
            inputs = [name if name in self._batched else self._repeated(name) for name in inputs]
        self._copied(node, inputs, axis=axis % rank + 1)

    def _repeated(self, name: str) -> str:
        """A shared value, repeated for each device."""
        shape = self._emit("Concat", [self._devices(), self._constant(self._shape(name))], [self._new("shape")], axis=0)
        return self._emit("Expand", [name, shape], [self._new("repeated")])

    def _devices(self) -> str:
        """The number of devices, int64 [1]."""
        if self._count is None:
            self._count = self._emit("Shape", [self._any], [self._new("count")], start=0, end=1)
        return self._count

    def _by_sample(self, node: NodeProto) -> None:
        if any(name in self._batched for name in node.input[1:]):
            raise Unsupported(f"{node.op_type} with parameters of each device")
        if len(node.output) > 1:
            raise Unsupported(f"{node.op_type} of several outputs")
        folded = self._folded(node.input[0])
        inner = self._new("folded")
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        self._emit(node.op_type, [folded, *node.input[1:]], [inner], **attributes)
        self._unfold(inner, node.output[0])

    def _folded(self, name: str) -> str:
        return self._reshaped(name, [-1, *self._shape(name)[1:]])

    def _unfold(self, inner: str, output: str) -> None:
        self._emit("Reshape", [inner, self._constant([-1, *self._shape(output)])], [output])

    def reshape(self, node: NodeProto) -> None:
        self._copied(node, [node.input[0], self._constant([0, *self._shape(node.output[0])])])

    def expand(self, node: NodeProto) -> None:
        shape = self._shape(node.output[0])
        self._copied(node, [self._ranked(node.input[0], len(shape)), self._constant([1, *shape])])

    def transpose(self, node: NodeProto) -> None:
        rank = len(self._shape(node.input[0]))
        perm = next((list(one.ints) for one in node.attribute if one.name == "perm"), list(range(rank))[::-1])
        self._copied(node, node.input, perm=[0, *(axis + 1 for axis in perm)])

    def squeeze(self, node: NodeProto) -> None:
        self._emit("Reshape", [node.input[0], self._constant([0, *self._shape(node.output[0])])], list(node.output))

    def matmul(self, node: NodeProto) -> None:
        ranks = [len(self._shape(name)) for name in node.input]
        if min(ranks) < 2:
            raise Unsupported("MatMul of a vector")
        self._copied(node, [self._ranked(name, max(ranks)) for name in node.input])

    def gemm(self, node: NodeProto) -> None:
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        if attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0:
            raise Unsupported("Gemm with factors")
        first, second = (
            self._turned(name) if attributes.get(turned) else name
            for name, turned in zip(node.input[:2], ("transA", "transB"), strict=True)
        )
        if len(node.input) < 3 or not node.input[2]:
            self._emit("MatMul", [first, second], list(node.output))
            return
        product = self._emit("MatMul", [first, second], [self._new("product")])
        self._emit("Add", [product, self._ranked(node.input[2], 2)], list(node.output))

    def _turned(self, name: str) -> str:
        perm = [0, 2, 1] if name in self._batched else [1, 0]
        return self._emit("Transpose", [name], [self._new("turned")], perm=perm)

    def gather(self, node: NodeProto) -> None:
        if node.input[1] in self._batched:
            raise Unsupported("Gather by indices of each device")
        rank = len(self._shape(node.input[0]))
        axis = next((one.i for one in node.attribute if one.name == "axis"), 0)
        self._copied(node, node.input, axis=axis % rank + 1)

    def slice(self, node: NodeProto) -> None:
        rank = len(self._shape(node.input[0]))
        starts = self._numbers(node.input[1])
        axes = self._numbers(node.input[3]) if len(node.input) > 3 and node.input[3] else list(range(len(starts)))
        shifted = self._constant([axis % rank + 1 for axis in axes])
        self._copied(node, [*node.input[:3], shifted, *node.input[4:]])

    def pad(self, node: NodeProto) -> None:
        pads = self._numbers(node.input[1])
        half = len(pads) // 2
        if len(node.input) > 3 and node.input[3]:
            raise Unsupported("Pad along some axes")
        given = self._constant([0, *pads[:half], 0, *pads[half:]])
        self._copied(node, [node.input[0], given, *node.input[2:3]])

    def max_unpool(self, node: NodeProto) -> None:
        """Indices count the elements of the whole output: each device's are offset by those of earlier devices."""
        numbers, indices = node.input[:2]
        if not {numbers, indices} <= self._batched:
            raise Unsupported("MaxUnpool of what devices share")
        if len(node.input) < 3:
            raise Unsupported("MaxUnpool to a shape that is not given")
        shape = self._numbers(node.input[2])  # not inferred by ONNX
        zero, one = self._scalar(0), self._scalar(1)
        count = self._reshaped(self._devices(), [])
        numbered = self._emit("Range", [zero, count, one], [self._new("numbers")])
        begins = self._emit("Mul", [numbered, self._scalar(int(np.prod(shape)))], [self._new("begins")])
        placed = self._emit("Add", [indices, self._reshaped(begins, [-1, *[1] * len(shape)])], [self._new("placed")])
        axes = [self._folded(numbers), self._emit_folded(placed, self._shape(indices))]
        samples = self._emit("Mul", [self._devices(), self._constant([shape[0]])], [self._new("samples")])
        whole = self._emit("Concat", [samples, self._constant(shape[1:])], [self._new("shape")], axis=0)
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        inner = self._emit("MaxUnpool", [*axes, whole], [self._new("folded")], **attributes)
        self._emit("Reshape", [inner, self._constant([-1, *shape])], list(node.output))

    def _emit_folded(self, name: str, shape: Sequence[int]) -> str:
        return self._reshaped(name, [-1, *shape[1:]])

    def _scalar(self, number: int) -> str:
        name = f"{DEVICES}.scalar.{len(self.made)}"
        self.made[name] = np.asarray(number, np.int64)
        return name


RULES: dict[str, Callable[[_Rewriting, NodeProto], None]] = {
    "Expand": _Rewriting.expand,
    "Flatten": _Rewriting.squeeze,
    "Gather": _Rewriting.gather,
    "Gemm": _Rewriting.gemm,
    "MatMul": _Rewriting.matmul,
    "MaxUnpool": _Rewriting.max_unpool,
    "Pad": _Rewriting.pad,
    "Reshape": _Rewriting.reshape,
    "Slice": _Rewriting.slice,
    "Squeeze": _Rewriting.squeeze,
    "Transpose": _Rewriting.transpose,
    "Unsqueeze": _Rewriting.squeeze,
}


def _value(value: onnx.ValueInfoProto, batched: bool) -> onnx.ValueInfoProto:
    found = value.type.tensor_type
    shape: list[int | str] = [one.dim_value for one in found.shape.dim]
    assert found.elem_type != TensorProto.UNDEFINED
    return helper.make_tensor_value_info(value.name, found.elem_type, [DEVICES, *shape] if batched else shape)
