"""A train step bound to its tensors, which stay where they are: nothing is copied or allocated between two steps."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import onnxruntime as ort

from coterie_agent.training.graph import Graph, room
from coterie_wire.codec import Float32, Tensors


class _Direction(NamedTuple):
    """A step from one set of the carried tensors to the other."""

    binding: ort.IOBinding
    taken: Mapping[str, ort.OrtValue]
    """What it takes of what is carried, by name."""
    held: dict[str, ort.OrtValue]
    """Its other inputs: a binding knows where NumPy's memory is, and does not keep it."""


class Steps:
    """What a step hands to the next lies in memory twice: the graph reads one set and writes the other, by turns."""

    def __init__(
        self,
        graph: Graph,
        carried: Tensors,
        fixed: Mapping[str, ort.OrtValue],
        *,
        still: frozenset[str] = frozenset(),
    ) -> None:
        """`carried` is what the first step takes, by the names of the graph's inputs; no step changes those `still`.

        `fixed` are inputs that are the same in every step. Both are by the names of the graph's inputs.
        """
        self._graph, self._loss = graph, room(())
        kept = {name: room(carried[name].shape) for name in still}
        moving = {name: tensor.shape for name, tensor in carried.items() if name not in still}
        here, there = ({name: room(shape) for name, shape in moving.items()} for _ in range(2))
        forth = self._direction({**here, **kept}, there, fixed)
        back = self._direction({**there, **kept}, here, fixed)
        self._next, self._after = forth, back
        self.write(carried)

    def run(self, given: Mapping[str, ort.OrtValue]) -> float:
        """The loss of a step that is `given` all other inputs; the step counts once `advance` is called.

        Raises AgentError ``model.broken``.
        """
        direction = self._next
        direction.held.update(given)
        for name, tensor in given.items():
            direction.binding.bind_ortvalue_input(name, tensor)
        self._graph.run_bound(direction.binding)
        return float(self._loss.numpy())

    def advance(self) -> None:
        """Go on from what the latest step gave."""
        self._next, self._after = self._after, self._next

    def read(self, name: str) -> Float32:
        """A copy of what the next step takes."""
        return np.array(self._next.taken[name].numpy(), np.float32)

    def write(self, carried: Tensors) -> None:
        """Go on from other tensors than the latest step's."""
        for name, tensor in carried.items():
            self._next.taken[name].update_inplace(np.asarray(tensor, order="C"))

    def _direction(
        self,
        taken: Mapping[str, ort.OrtValue],
        given: Mapping[str, ort.OrtValue],
        fixed: Mapping[str, ort.OrtValue],
    ) -> _Direction:
        outputs = {"loss": self._loss, **{f"next.{name}": tensor for name, tensor in given.items()}}
        return _Direction(self._graph.bind({**fixed, **taken}, outputs), taken, dict(fixed))
