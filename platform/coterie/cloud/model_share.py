"""One worker's part of a model that no worker has as a whole, written to and read from checkpoints."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from coterie.cloud.arrays import array_of, tensor_of
from coterie.cloud.checkpoints import read_file
from coterie.cloud.collective import CheckpointPart, Rank
from coterie.cloud.computing import RANDOM, RANDOM_OF_GPU
from coterie.cloud.course import LOSSES, Course
from coterie.cloud.parts import RowSpan, join_parts
from coterie.cloud.training_state import MOMENTS, STEPS
from coterie_learning.random import derive_seed
from coterie_wire.tensors import Array, encode_tensors

STATE, OWN = "state", "own-"
WHOLE = RowSpan(0, 1 << 62)


class ModelShare(NamedTuple):
    """A worker's parameters, or its rows of them, with their optimiser state."""

    rank: Rank
    parameters: Mapping[str, nn.Parameter]
    """By the program's names; a DTensor where it has rows."""
    rows: Mapping[str, RowSpan]
    """Which rows of each parameter it has."""
    buffers: Mapping[str, Tensor]
    """Buffers of its blocks."""
    writes: frozenset[str]
    """The buffers that it writes: other workers have the same values."""
    optimiser: torch.optim.Optimizer

    def part(self) -> CheckpointPart:
        """Its part of a checkpoint, which any number of workers can read."""
        return CheckpointPart(self._save, self._find)

    def _save(self, course: Course) -> bytes:
        mine = {**self.rank.learner.computing.random_states(), **course.remembered()}
        tensors: dict[str, Array] = {f"{kind}.{self.rank.number}": array_of(tensor) for kind, tensor in mine.items()}
        # Within an epoch, each worker has its own statistics.
        own = self.buffers.items() if course.moment.steps else ()
        tensors |= {f"{self._own}.{name}": array_of(buffer) for name, buffer in own}
        tensors |= {f"{STATE}.{name}": array_of(self.buffers[name]) for name in self.writes}
        for name, parameter in self.parameters.items():
            tensors[f"{STATE}.{name}"] = array_of(local(parameter))
            # A parameter that no gradient reached has no moments.
            memory = self.optimiser.state[parameter]
            tensors |= {f"{key}.{name}": array_of(local(value)) for key, value in memory.items()}
        return encode_tensors({name: array for name, array in tensors.items() if array.size})

    def _find(self, paths: Sequence[Path]) -> Callable[[], Mapping[str, Tensor]] | None:
        def read() -> Iterator[bytes]:
            for path in paths:
                content = read_file(path)
                if content is None:
                    raise _Missing
                yield content

        try:
            found = join_parts(read(), self._rows_of)
        except _Missing:
            return None
        return partial(self._restore, found, workers=len(paths)) if found else None

    def _rows_of(self, name: str) -> RowSpan | None:
        kind, _, of = name.partition(".")
        if kind in (RANDOM, RANDOM_OF_GPU):
            return WHOLE if of == str(self.rank.number) else None
        if kind.startswith(OWN):
            return WHOLE if kind == self._own else None
        if kind == LOSSES:
            return WHOLE
        return self.rows.get(of, WHOLE if of in self.buffers else None)

    @property
    def _own(self) -> str:
        return f"{OWN}{self.rank.number}"

    def _restore(self, found: Mapping[str, Array], *, workers: int) -> Mapping[str, Tensor]:
        tensors = {name: tensor_of(array) for name, array in found.items()}
        if workers == self.rank.count:
            mine = {
                kind: tensors[f"{kind}.{self.rank.number}"]
                for kind in (RANDOM, RANDOM_OF_GPU)
                if f"{kind}.{self.rank.number}" in tensors
            }
            self.rank.learner.computing.restore_random(mine)
        else:
            torch.manual_seed(derive_seed(self.rank.learner.arguments.seed, "worker", self.rank.number, workers))
        with torch.no_grad():
            for name, buffer in self.buffers.items():
                shared = tensors[f"{STATE}.{name}"]
                buffer.copy_(tensors.get(f"{self._own}.{name}", shared) if workers == self.rank.count else shared)
            for name, parameter in self.parameters.items():
                if local(parameter).numel():
                    local(parameter).copy_(tensors[f"{STATE}.{name}"])
                if f"{STEPS}.{name}" in tensors:
                    moments = {moment: _like(parameter, tensors.get(f"{moment}.{name}")) for moment in MOMENTS}
                    steps = tensors[f"{STEPS}.{name}"].to(self.rank.device)
                    self.optimiser.state[parameter] = {**moments, STEPS: steps}
        if f"{LOSSES}.0" not in tensors:
            return {}
        if workers == self.rank.count:
            return {LOSSES: tensors[f"{LOSSES}.{self.rank.number}"]}
        # Their mean is the loss of a step, for any number of workers.
        each = torch.stack([tensors[f"{LOSSES}.{worker}"].view(torch.float64) for worker in range(workers)])
        return {LOSSES: each.mean(dim=0).view(torch.int64)}


class _Missing(Exception):
    """A part of a checkpoint is missing or damaged."""


def local(tensor: Tensor) -> Tensor:
    """The rows of it that this worker has; of a tensor without rows, all of it."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _like(parameter: Tensor, rows: Tensor | None) -> Tensor:
    """A zero moment for `parameter`; without `rows`, empty."""
    if not isinstance(parameter, DTensor):
        assert rows is not None, "whoever has the steps has the moments"
        return rows.to(parameter.device)
    return DTensor.from_local(
        torch.empty_like(parameter.to_local()) if rows is None else rows.to(parameter.device),
        parameter.device_mesh,
        parameter.placements,
        run_check=False,
        shape=parameter.shape,
        stride=parameter.stride(),
    )
