"""A server's part of a model, and how it changes: weights by the optimiser, statistics by their mean."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from coterie.cloud.training_state import MOMENTS, STEPS
from coterie_wire.tensors import Float32


class Pushed(NamedTuple):
    """A worker's push for a piece at a step; a worker without samples sends none."""

    numbers: Float32
    idle: frozenset[int] = frozenset()
    """Places of the layer's parameters that no gradient of its samples reached."""
    loss: float = 0.0
    """Its part of the batch's loss."""


class Held(Protocol):
    """A piece, as a server stores it."""

    @property
    def numbers(self) -> Tensor:
        """float32, as workers receive it."""
        ...

    def change(self, pushed: Sequence[Pushed], *, share: float) -> None:
        """Apply what workers pushed, in their order; `share`: the fraction of a step of all workers that it is, 0
        to 1.
        """
        ...


class Weights:
    """Parameters of a layer, or a part of one, with AdamW's state."""

    def __init__(self, numbers: Tensor, parts: Mapping[int, int], *, learning_rate: float) -> None:
        """`parts`: how many of the numbers belong to each parameter, by its place in the layer."""
        self.numbers = numbers
        self._places = tuple(parts)
        self._sizes = list(parts.values())
        self._parameters = [nn.Parameter(part) for part in torch.split(numbers, self._sizes)]
        self._optimiser = torch.optim.AdamW(self._parameters, lr=learning_rate)

    def change(self, pushed: Sequence[Pushed], *, share: float) -> None:  # noqa: ARG002 - a gradient is a step's
        """Apply a step with the sum of the gradients; a parameter that none reaches does not change."""
        total = sum((one.numbers.astype(np.float64) for one in pushed), np.zeros(len(self.numbers)))
        idle = frozenset.intersection(*(one.idle for one in pushed))
        gradients = torch.split(torch.from_numpy(total.astype(np.float32)), self._sizes)
        for place, parameter, gradient in zip(self._places, self._parameters, gradients, strict=True):
            parameter.grad = None if place in idle else gradient
        self._optimiser.step()

    def save(self) -> Iterator[tuple[str, Tensor]]:
        """Its numbers, moments and, for each parameter, steps; 0: no gradient has reached it."""
        states = [self._optimiser.state[parameter] for parameter in self._parameters]
        yield "numbers", self.numbers
        for moment in MOMENTS:
            yield (
                moment,
                torch.cat(
                    [
                        state.get(moment, torch.zeros_like(parameter))
                        for state, parameter in zip(states, self._parameters, strict=True)
                    ]
                ),
            )
        yield STEPS, torch.tensor([float(state.get(STEPS, 0.0)) for state in states])

    def restore(self, saved: Mapping[str, Tensor]) -> None:
        """The inverse of `save`, except for the numbers, which the constructor takes."""
        moments = {moment: torch.split(saved[moment], self._sizes) for moment in MOMENTS}
        for place, (parameter, steps) in enumerate(zip(self._parameters, saved[STEPS], strict=True)):
            if steps:
                self._optimiser.state[parameter] = {
                    STEPS: steps.clone(),
                    **{moment: parts[place].clone() for moment, parts in moments.items()},
                }


class Averages:
    """Numbers without gradients, and the losses of an epoch."""

    def __init__(self, numbers: Tensor) -> None:
        self.numbers = numbers
        self._losses, self._count = 0.0, 0

    def change(self, pushed: Sequence[Pushed], *, share: float) -> None:
        """Apply the sum of what workers pushed, each its part; where that is a fraction of a step, with that weight."""
        total = sum((one.numbers.astype(np.float64) for one in pushed), np.zeros(len(self.numbers)))
        former = self.numbers.double().numpy()
        mixed = total if share == 1 else share * total + (1 - share) * former
        self.numbers.copy_(torch.from_numpy(mixed))
        self._losses += sum(one.loss for one in pushed)
        self._count += 1

    def save(self) -> Tensor:
        """The state of the losses, [2] as bits of float64."""
        return torch.tensor([self._losses, float(self._count)], dtype=torch.float64).view(torch.int64)

    def restore(self, saved: Tensor) -> None:
        """The inverse of `save`."""
        losses, count = saved.view(torch.float64).tolist()
        self._losses, self._count = losses, int(count)

    def read_loss(self) -> float:
        """The mean over the steps since the last call."""
        losses, count = self._losses, self._count
        self._losses, self._count = 0.0, 0
        return losses / max(1, count)
