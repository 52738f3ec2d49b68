"""Builds an ONNX graph node by node."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from coterie.compile.sizes import Sizes, Sources

OPSET = 18
"""Standard operators only; onnxruntime has run this opset since 1.14, and onnxruntime-web since 1.15."""
IR_VERSION = 8

Values = Sequence[tuple[str, onnx.TypeProto]]
"""Names of values, with their types."""
Attribute = int | float | str | Sequence[int]
Size = int | torch.SymInt

ONNX_TYPES: Mapping[torch.dtype, int] = {
    torch.float32: TensorProto.FLOAT,
    torch.float64: TensorProto.DOUBLE,
    torch.int64: TensorProto.INT64,
    torch.int32: TensorProto.INT32,
    torch.int8: TensorProto.INT8,
    torch.uint8: TensorProto.UINT8,
    torch.bool: TensorProto.BOOL,
}
NUMPY_TYPES: Mapping[torch.dtype, type[np.generic]] = {
    torch.float32: np.float32,
    torch.float64: np.float64,
    torch.int64: np.int64,
    torch.int32: np.int32,
    torch.int8: np.int8,
    torch.uint8: np.uint8,
    torch.bool: np.bool_,
}


class Emitter:
    """A graph under construction. Values are known by their names."""

    def __init__(self, sources: Sources | None = None) -> None:
        """`sources`: where the dynamic sizes come from."""
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._initializers: list[onnx.TensorProto] = []
        self._sizes = Sizes(self, sources or {})
        self._count = 0

    def op(self, op_type: str, *inputs: str, **attributes: Attribute) -> str:
        """Add a node with one output; returns its name. An absent optional input is ``""``."""
        return self.ops(op_type, 1, *inputs, **attributes)[0]

    def ops(self, op_type: str, outputs: int, *inputs: str, **attributes: Attribute) -> tuple[str, ...]:
        """Add a node with several outputs."""
        names = tuple(self._fresh() for _ in range(outputs))
        self._nodes.append(helper.make_node(op_type, inputs, names, None, None, None, None, **attributes))
        return names

    def loop(
        self,
        body: Callable[[Sequence[str]], Sequence[str]],
        state: Values,
        sequences: Values,
        places: Sequence[int],
        *,
        reverse: bool,
    ) -> tuple[str, ...]:
        """ONNX's Scan. `body` takes the state and a row of each sequence, and returns the next state, then output rows.

        Returns the last state, and sequences of those rows that are at `places` among the results of `body`. Values
        come with their types, a sequence with that of its rows.
        """
        taken = [*state, *sequences]
        inputs = [self._fresh() for _ in taken]
        around, self._nodes = self._nodes, []
        given = body(inputs)
        # Each output of a body must be the output of one of its nodes, and no two may be the same.
        fit = {value for node in self._nodes for value in node.output}
        ends: list[str] = []
        for value in (given[place] for place in (*range(len(state)), *places)):
            ends.append(value if value in fit.difference(ends) else self.op("Identity", value))
        nodes, self._nodes = self._nodes, around
        graph = helper.make_graph(
            nodes,
            "step",
            [helper.make_value_info(name, kind) for name, (_, kind) in zip(inputs, taken, strict=True)],
            [helper.make_empty_tensor_value_info(name) for name in ends],
        )
        names = tuple(self._fresh() for _ in ends)
        node = helper.make_node("Scan", [value for value, _ in taken], names, body=graph)
        directions = {"scan_input_directions": len(sequences), "scan_output_directions": len(places)}
        node.attribute.append(helper.make_attribute("num_scan_inputs", len(sequences)))
        if reverse:
            node.attribute.extend(helper.make_attribute(name, [1] * count) for name, count in directions.items())
        self._nodes.append(node)
        return names

    def constant(self, array: NDArray[np.generic]) -> str:
        """The name of `array`; equal constants are stored once."""
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            name = f"constant.{len(self._constants)}"
            self._constants[key] = name
            self._initializers.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return self._constants[key]

    def scalar(self, value: float, dtype: torch.dtype) -> str:
        """A constant of shape []."""
        return self.constant(np.array(value, NUMPY_TYPES[dtype]))

    def ints(self, values: Sequence[int]) -> str:
        """A constant int64 vector: axes, pads, starts."""
        return self.constant(np.array(values, np.int64))

    def cast(self, value: str, dtype: torch.dtype) -> str:
        return self.op("Cast", value, to=ONNX_TYPES[dtype])

    def shape(self, sizes: Sequence[Size]) -> str:
        """An int64 vector of `sizes`, computed where one is symbolic."""
        if all(isinstance(size, int) for size in sizes):
            return self.ints([int(size) for size in sizes])
        parts = [self.ints([size]) if isinstance(size, int) else self._sizes.value(size.node.expr) for size in sizes]
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    def number(self, number: torch.SymInt | torch.SymFloat, dtype: torch.dtype) -> str:
        """A scalar computed from symbolic sizes."""
        return self.cast(self.op("Squeeze", self._sizes.value(number.node.expr)), dtype)

    def _fresh(self) -> str:
        self._count += 1
        return f"value.{self._count}"

    def _drop_unused(self, outputs: set[str]) -> None:
        """Remove unused nodes, since runtimes compute them too."""
        needed = set(outputs)
        kept = []
        for node in reversed(self._nodes):
            if needed.intersection(node.output):
                needed.update(value for inner in every_node([node]) for value in inner.input)
                kept.append(node)
        self._nodes = kept[::-1]
        self._initializers = [tensor for tensor in self._initializers if tensor.name in needed]

    def finish(
        self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Mapping[str, tuple[str, onnx.ValueInfoProto]]
    ) -> bytes:
        """The model's bytes; `outputs` maps each output's name to its value and type."""
        renamed: dict[str, str] = {}
        produced = {value for node in self._nodes for value in node.output}
        for output, (value, _) in outputs.items():
            if value in produced and value not in renamed:
                renamed[value] = output
            else:
                self._nodes.append(helper.make_node("Identity", [renamed.get(value, value)], [output]))
        for node in every_node(self._nodes):
            node.input[:] = [renamed.get(value, value) for value in node.input]
            node.output[:] = [renamed.get(value, value) for value in node.output]
        self._drop_unused(set(outputs))
        for number, node in enumerate(self._nodes):
            # Without names, onnxruntime before 1.20 gives two nodes that it creates the same name, and fails.
            node.name = f"{node.op_type}.{number}"
        graph = helper.make_graph(
            self._nodes, name, list(inputs), [info for _, info in outputs.values()], initializer=self._initializers
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="coterie"
        )
        onnx.checker.check_model(model)
        data: bytes = model.SerializeToString(deterministic=True)
        return data


def every_node(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """`nodes`, including those in the bodies of loops."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from every_node(attribute.g.node)
