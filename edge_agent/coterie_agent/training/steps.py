"""A train step bound to its tensors, which stay where they are: nothing is allocated between two steps."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import onnxruntime as ort

from coterie_agent.errors import AgentError
from coterie_agent.training.graph import Graph, room, value
from coterie_wire.tensors import Array, Float32, Tensors


class _Direction(NamedTuple):
    """A step from one set of the carried tensors to the other."""

    binding: ort.IOBinding
    taken: Mapping[str, ort.OrtValue]
    """What it takes of what is carried, by name."""


class Steps:
    """Tensors carried between steps are held twice in memory: the graph reads one set and writes the other, in turn."""

    def __init__(
        self,
        graph: Graph,
        carried: Tensors,
        fixed: Mapping[str, Array],
        *,
        frozen: frozenset[str] = frozenset(),
    ) -> None:
        """`carried` is what the first step takes, `fixed` are inputs that are the same in every step.

        Both are by the names of the graph's inputs. No step changes those of `carried` that are `frozen`.
        """
        self._graph, self._loss = graph, room(())
        self._fixed = {name: value(tensor) for name, tensor in fixed.items()}
        self._given: dict[str, Array] = {}
        """Of the latest step; a binding knows where NumPy's memory is, and does not keep it."""
        kept = {name: room(carried[name].shape) for name in frozen}
        moving = {name: tensor.shape for name, tensor in carried.items() if name not in frozen}
        here, there = ({name: room(shape) for name, shape in moving.items()} for _ in range(2))
        self._next, self._after = self._direction({**here, **kept}, there), self._direction({**there, **kept}, here)
        self.write(carried)

    def run(self, given: Mapping[str, Array]) -> float:
        """Run a step with copies of all other inputs `given`; return its loss. Its outputs are used after `advance`.

        NaN where an operator fails on parameters that the step before has made infinite or NaN: some then compute an
        index out of range. Raises AgentError ``data.does_not_fit`` or ``model.broken`` where one fails on
        finite parameters.
        """
        for name, array in given.items():
            self._give(name, array)
        try:
            self._graph.run_bound(self._next.binding, self._given.values())
        except AgentError:
            if all(np.isfinite(tensor.numpy()).all() for tensor in self._next.taken.values()):
                raise
            return math.nan
        return float(self._loss.numpy())

    def advance(self) -> None:
        """Continue from the outputs of the latest step."""
        self._next, self._after = self._after, self._next

    def read(self, name: str) -> Float32:
        """A copy of the tensor `name` that the next step takes."""
        return np.array(self._next.taken[name].numpy(), np.float32)

    def write(self, carried: Tensors) -> None:
        """Continue from `carried` instead of the outputs of the latest step."""
        for name, tensor in carried.items():
            self._next.taken[name].update_inplace(np.asarray(tensor, order="C"))

    def _give(self, name: str, array: Array) -> None:
        """To both directions; where the latest step's is as large, its memory is written over, sooner than bound."""
        held = self._given.get(name)
        if held is not None and held.shape == array.shape:
            np.copyto(held, array, casting="equiv")
            return
        self._given[name] = array.copy()
        for direction in (self._next, self._after):
            direction.binding.bind_ortvalue_input(name, value(self._given[name]))

    def _direction(self, taken: Mapping[str, ort.OrtValue], given: Mapping[str, ort.OrtValue]) -> _Direction:
        outputs = {"loss": self._loss, **{f"next.{name}": tensor for name, tensor in given.items()}}
        return _Direction(self._graph.bind({**self._fixed, **taken}, outputs), taken)
