"""One call of an ATen operator, as the functions that translate it see it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.fx.node import Argument, Node

from coterie.compile.emitter import NUMPY_TYPES, Emitter, Size

Lowered = str | tuple[str, ...]


@dataclass(frozen=True)
class Call:
    """A call of an ATen operator; its arguments by the names of the operator's schema, with defaults filled in."""

    emit: Emitter
    node: Node
    values: Mapping[Node, Lowered]
    arguments: Mapping[str, Argument]

    def __getitem__(self, name: str) -> str:
        """The value of a tensor argument; a Python number becomes a constant of the result's dtype.

        As in `passes.ranked_scalars`, it has the result's rank where that ends in an axis of size 1.
        """
        argument, shape = self.arguments[name], self.result.shape
        if isinstance(argument, (int, float)) and len(shape) > 1 and same_sizes(shape[-1:], [1]):
            return self.emit.constant(np.full([1] * len(shape), argument, NUMPY_TYPES[self.dtype]))
        return self.cast(name, self.dtype)

    def raw(self, name: str) -> str:
        """The value of a tensor argument in its own dtype."""
        argument = self.arguments[name]
        assert isinstance(argument, Node)
        value = self.values[argument]
        assert isinstance(value, str)
        return value

    def cast(self, name: str, dtype: torch.dtype) -> str:
        """The value of a tensor or number as `dtype`."""
        argument = self.arguments[name]
        if isinstance(argument, Node):
            computed = argument.meta["val"]
            if isinstance(computed, (torch.SymInt, torch.SymFloat)):
                return self.emit.number(computed, dtype)
            value = self.raw(name)
            return value if self.tensor(name).dtype == dtype else self.emit.cast(value, dtype)
        assert isinstance(argument, (int, float, bool))
        return self.emit.scalar(argument, dtype)

    def optional(self, name: str) -> str:
        """The value of a tensor argument, or ONNX's marker for an absent one."""
        return "" if self.arguments[name] is None else self.raw(name)

    def each(self, name: str) -> list[str]:
        """The values of a list of tensors."""
        argument = self.arguments[name]
        assert isinstance(argument, (list, tuple))
        values = [self.values[node] for node in argument if isinstance(node, Node)]
        return [value for value in values if isinstance(value, str)]

    def tensor(self, name: str) -> torch.Tensor:
        """Shape and dtype of a tensor argument."""
        return meta(self.arguments[name])

    def tensors(self, name: str) -> list[torch.Tensor]:
        argument = self.arguments[name]
        assert isinstance(argument, (list, tuple))
        return [meta(node) for node in argument]

    def number(self, name: str) -> float:
        value = self.arguments[name]
        assert isinstance(value, (int, float, bool))
        return value

    def whole(self, name: str) -> int:
        value = self.arguments[name]
        assert isinstance(value, int)
        return value

    def ints(self, name: str) -> list[int]:
        """A list of integers, e.g. axes; None is an empty list, a single number a list of it."""
        value = self.arguments[name]
        if value is None:
            return []
        items = value if isinstance(value, (list, tuple)) else [value]
        fixed = [item for item in items if isinstance(item, int)]
        if len(fixed) != len(items):
            raise NotImplementedError(f"its {name} depends on the size of the batch, or on the length of samples")
        return fixed

    def size(self, name: str, *, default: Size) -> Size:
        """An integer that may depend on sizes; `default` where it is omitted."""
        value = self.arguments[name]
        return default if value is None else _size(value)

    def sizes(self, name: str) -> list[Size]:
        """A list of integers that may depend on sizes."""
        values = self.arguments[name]
        assert isinstance(values, (list, tuple))
        return [_size(value) for value in values]

    @property
    def result(self) -> torch.Tensor:
        """Shape and dtype of the result; of several results, the first."""
        return meta(self.node)

    @property
    def dtype(self) -> torch.dtype:
        return self.result.dtype

    @property
    def shape(self) -> tuple[Size, ...]:
        return tuple(self.result.shape)


Lowering = Callable[[Call], Lowered]


def same_sizes(here: Sequence[Size], there: Sequence[Size]) -> bool:
    """Whether two shapes are equal for batches of every size, and samples of every length.

    `==` would compare them for the batch of the export, and specialise the size to that batch's where they are equal.
    """
    return len(here) == len(there) and all(
        statically_known_true(size == other) for size, other in zip(here, there, strict=True)
    )


class OperatorTable(dict[str, Lowering]):
    """Translations of operators by name without namespace, e.g. ``add.Tensor``."""

    def lowers(self, *names: str) -> Callable[[Lowering], Lowering]:
        """Register a function as the translation of the ATen operators `names`."""

        def declare(lowering: Lowering) -> Lowering:
            self.update(dict.fromkeys(names, lowering))
            return lowering

        return declare


def _size(value: Argument) -> Size:
    number = value.meta["val"] if isinstance(value, Node) else value
    assert isinstance(number, (int, torch.SymInt))
    return number


def meta(argument: Argument) -> torch.Tensor:
    assert isinstance(argument, Node)
    value = argument.meta["val"]
    tensor = value[0] if isinstance(value, (tuple, list)) else value
    assert isinstance(tensor, torch.Tensor)
    return tensor
