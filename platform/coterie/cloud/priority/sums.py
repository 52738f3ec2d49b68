"""Pieces of gradients are summed over the workers of `data_parallel`; each worker changes its own parameters."""

from collections.abc import Sequence
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.futures import Future

from coterie.cloud.collective import Rank
from coterie.cloud.priority.carrier import Done
from coterie.cloud.priority.layers import Layer
from coterie.cloud.priority.order import Piece


class Sums:
    """Sums by gloo: pieces must begin in one order at all workers."""

    def __init__(self, rank: Rank, layers: Sequence[Layer]) -> None:
        self._rank = rank
        self._optimisers: dict[Layer, torch.optim.Optimizer] = {}
        for layer in layers:
            optimiser = rank.learner.computing.adamw(layer.parameters, rank.learner.arguments.learning_rate)
            optimiser.state = rank.learner.optimiser.state  # one buffer, which checkpoints contain
            self._optimisers[layer] = optimiser
        self._reached: set[nn.Parameter] = set()
        """Parameters that gradients reach, of any worker."""

    def begin(self, layer: Layer, piece: Piece, done: Done) -> None:
        """The mean of all workers' numbers comes back."""
        part = layer.numbers[piece.start : piece.stop]
        part.div_(self._rank.count)
        self._rank.meter.begin()
        work = dist.all_reduce(part, async_op=True)
        assert work is not None, "this worker is in the group"
        work.get_future().then(partial(self._has_arrived, done))

    def _has_arrived(self, done: Done, future: Future[object]) -> None:
        self._rank.meter.end()
        try:
            future.value()
        except RuntimeError as error:
            done(error)
        else:
            done(None)

    def change(self, layer: Layer) -> None:
        """Apply a step of its optimiser."""
        for parameter, gradient in zip(layer.parameters, layer.parts, strict=True):
            parameter.grad = gradient.to(parameter.device) if parameter in self._reached else None
        self._optimisers[layer].step()
        self._optimisers[layer].zero_grad()

    def know_reached(self, layers: Sequence[Layer]) -> None:
        """A parameter that the gradients of any worker reach has a sum."""
        places = [(layer, place) for layer in layers for place in range(len(layer.parameters))]
        votes = torch.tensor([place in layer.came for layer, place in places], dtype=torch.int32)
        dist.all_reduce(votes, op=dist.ReduceOp.MAX)
        reached = votes.tolist()
        self._reached = {layer.parameters[place] for (layer, place), vote in zip(places, reached, strict=True) if vote}

    def agree(self, seconds: Tensor) -> Tensor:
        """The mean over all workers."""
        return self._rank.mean(seconds)
