"""Dynamic sizes, as arithmetic in a graph: sums, products and quotients of the batch and the length."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import sympy
import torch
from numpy.typing import NDArray
from torch.utils._sympy.functions import FloatTrueDiv, FloorDiv, IntTrueDiv, Mod, PythonMod, ToFloat

Sources = Mapping[sympy.Symbol, tuple[str, int]]
"""For the symbol of a size, an input that has it and the axis."""


def at_most(size: int | torch.SymInt) -> int:
    """The size for the longest samples; a question about the size itself would specialise it."""
    return size if isinstance(size, int) else int(size.node.shape_env.bound_sympy(size.node.expr).upper)


class Arithmetic(Protocol):
    """The operations of a graph that sizes need; values are known by their names."""

    def op(self, op_type: str, *inputs: str, **attributes: int) -> str:
        """Add a node with one output."""

    def constant(self, array: NDArray[np.generic]) -> str:
        """The name of `array`."""

    def ints(self, values: Sequence[int]) -> str:
        """A constant int64 vector."""

    def cast(self, value: str, dtype: torch.dtype) -> str:
        """`value` as `dtype`."""


class Sizes:
    """Computes each size once in a graph."""

    def __init__(self, emit: Arithmetic, sources: Sources) -> None:
        self._emit, self._sources = emit, sources
        self._known: dict[sympy.Expr, str] = {}

    def value(self, expression: sympy.Expr) -> str:
        """int64 [1], or float64 [1] of what is not an integer. Raises NotImplementedError."""
        if expression not in self._known:
            self._known[expression] = self._computed(expression)
        return self._known[expression]

    def _computed(self, expression: sympy.Expr) -> str:
        emit, parts = self._emit, expression.args
        match expression:
            case sympy.Integer():
                return emit.ints([int(expression)])
            case sympy.Float():
                return emit.constant(np.array([float(expression)], np.float64))
            case sympy.Symbol() if expression in self._sources:
                name, axis = self._sources[expression]
                return emit.op("Shape", name, start=axis, end=axis + 1)
            case sympy.Add():
                return self._folded("Add", parts)
            case sympy.Mul():
                return self._folded("Mul", parts)
            case sympy.Pow() if parts[1].is_Integer and parts[1] > 0:
                return self._folded("Mul", [parts[0]] * int(parts[1]))
            case FloorDiv():
                # ONNX divides towards zero.
                left, right = (self.value(part) for part in parts)
                return emit.op("Div", emit.op("Sub", left, emit.op("Mod", left, right)), right)
            case Mod() | PythonMod():
                return emit.op("Mod", *(self.value(part) for part in parts))
            case IntTrueDiv() | FloatTrueDiv():
                return emit.op("Div", *(self._wide(part) for part in parts))
            case ToFloat():
                return self._wide(parts[0])
        raise NotImplementedError(f"the size {expression} is computed in a way that graphs do not know")

    def _folded(self, kind: str, parts: Sequence[sympy.Expr]) -> str:
        value = self.value if all(part.is_integer for part in parts) else self._wide
        total = value(parts[0])
        for part in parts[1:]:
            total = self._emit.op(kind, total, value(part))
        return total

    def _wide(self, expression: sympy.Expr) -> str:
        value = self.value(expression)
        return self._emit.cast(value, torch.float64) if expression.is_integer else value
