"""Sums of gradients over the workers of `data_parallel`, piece by piece, between backward passes and forward passes."""

import time
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from threading import Condition
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.futures import Future

from coterie.cloud.collective import Rank
from coterie.cloud.priority.credit import Credit
from coterie.cloud.priority.gates import gated, names_by_need
from coterie.cloud.priority.order import Piece, cut, static_order
from coterie.cloud.priority.window import Window

TIMED_STEPS = 3
"""In each, nothing travels before its backward pass is over; the first is not counted, for it allocates memory."""


class Layer:
    """Parameters that follow one another in the forward pass; their gradients travel together."""

    def __init__(self, parameters: Sequence[nn.Parameter], *, beside: int, learning_rate: float) -> None:
        self.parameters = tuple(parameters)
        sizes = [parameter.numel() for parameter in parameters]
        self.numbers = torch.zeros(sum(sizes) + beside)
        """The gradients one after the other, then `beside` other numbers."""
        *parts, self.beside = torch.split(self.numbers, [*sizes, beside])
        self.gradients = [part.view(parameter.shape) for part, parameter in zip(parts, parameters, strict=True)]
        self.optimiser = torch.optim.AdamW(self.parameters, lr=learning_rate)


class _Timed(NamedTuple):
    """What a step showed in which nothing travelled during its backward pass."""

    ready_s: Tensor
    """[layers], from the beginning of the backward pass."""
    number_s: Tensor
    """For each number that travelled."""


class Transfers:
    """Call `forward`, let the gradients be computed, and call `backward_is_done`; `finish` before the model is read."""

    def __init__(self, rank: Rank, *, piece_bytes: int) -> None:
        self._rank, learner = rank, rank.learner
        most = max(1, piece_bytes // 4)
        self._named = [(name, learner.cloud.parameters[name]) for name in names_by_need(learner.cloud)]
        groups = _together([parameter.numel() for _, parameter in self._named], most)
        rate = learner.arguments.learning_rate
        self._layers = [
            # With the first travels how long the last step took at each worker.
            Layer([self._named[place][1] for place in group], beside=int(number == 0), learning_rate=rate)
            for number, group in enumerate(groups)
        ]
        for layer in self._layers:
            layer.optimiser.state = learner.optimiser.state  # one memory, which checkpoints have
        layer_of = {self._named[place][0]: number for number, group in enumerate(groups) for place in group}
        self._graph = gated(learner.cloud, {name: partial(self._wait, layer) for name, layer in layer_of.items()})
        self._pieces = cut([len(layer.numbers) for layer in self._layers], most)
        self._order = self._pieces
        self._timed: list[_Timed] = []
        self._reached: set[nn.Parameter] | None = None
        """Parameters that gradients reach, of any worker; None before the first step."""
        self._came: list[set[int]] = [set() for _ in self._layers]
        """Places in each layer whose gradients this step has given."""
        self._expected: list[int] = [len(layer.parameters) for layer in self._layers]
        self._credit, self._step_s, self._since = Credit(), 0.0, time.perf_counter()
        self._begun = 0.0
        self._changed = Condition()
        self._pumping = False
        self._arrived = [True] * len(self._layers)
        self._updated = [True] * len(self._layers)
        self._ready_s = torch.zeros(len(self._layers), dtype=torch.float64)
        self._failure: RuntimeError | None = None
        self._window = Window((), credit=1)
        for number, layer in enumerate(self._layers):
            for place, parameter in enumerate(layer.parameters):
                parameter.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                    partial(self._came_in, number, place)
                )

    @property
    def sent_bytes(self) -> int:
        """What this worker gives to be summed in a step."""
        return sum(4 * len(layer.numbers) for layer in self._layers)

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Logits, with dropout. Each parameter is changed by the former step's gradients just before it is used."""
        output = self._rank.learner.cloud.run(self._graph, inputs)
        now = time.perf_counter()
        self._step_s, self._since, self._begun = now - self._since, now, now
        for came in self._came:
            came.clear()
        with self._changed:
            self._arrived = [False] * len(self._layers)
            self._updated = [False] * len(self._layers)
            self._window = Window(self._order, credit=self._credit.pieces if self._is_timed else len(self._order))
        return output

    def backward_is_done(self) -> None:
        """All gradients of this step are there; what no gradient reached counts as zeros."""
        if self._reached is None:
            self._find_reached()
        over = time.perf_counter()
        for number, came in enumerate(self._came):
            if not self._is_timed or len(came) < self._expected[number] or self._expected[number] == 0:
                self._send(number)
        if not self._is_timed:
            self.finish()
            count = sum(len(layer.numbers) for layer in self._layers)
            number_s = torch.tensor([(time.perf_counter() - over) / count], dtype=torch.float64)
            self._timed.append(_Timed(self._ready_s.clone(), number_s))
            if self._is_timed:
                self._agree()

    def finish(self) -> None:
        """Wait until all parameters are changed."""
        for number in range(len(self._layers)):
            self._wait(number)

    @property
    def _is_timed(self) -> bool:
        return len(self._timed) >= TIMED_STEPS

    def _came_in(self, number: int, place: int, parameter: Tensor) -> None:
        """A gradient is there."""
        layer, gradient = self._layers[number], parameter.grad
        assert gradient is not None, "it has just been computed"
        layer.gradients[place].copy_(gradient)
        parameter.grad = None
        self._came[number].add(place)
        self._ready_s[number] = time.perf_counter() - self._begun
        if self._is_timed and len(self._came[number]) == self._expected[number]:
            self._send(number)

    def _find_reached(self) -> None:
        """Operators are the same at every step, so gradients reach the same parameters."""
        parameters = [
            (number, place, parameter)
            for number, layer in enumerate(self._layers)
            for place, parameter in enumerate(layer.parameters)
        ]
        votes = torch.tensor([place in self._came[number] for number, place, _ in parameters], dtype=torch.int32)
        dist.all_reduce(votes, op=dist.ReduceOp.MAX)
        reached = votes.tolist()
        self._reached = {parameter for (_, _, parameter), vote in zip(parameters, reached, strict=True) if vote}
        self._expected = [len(came) for came in self._came]

    def _send(self, number: int) -> None:
        layer = self._layers[number]
        for place in set(range(len(layer.parameters))) - self._came[number]:
            layer.gradients[place].zero_()
        layer.beside.fill_(self._step_s)
        layer.numbers.div_(self._rank.count)
        with self._changed:
            self._window.ready(number)
        self._pump()

    def _pump(self) -> None:
        """Begin what may begin. What has arrived at once comes here again, and leaves that to who is here already."""
        with self._changed:
            if self._pumping:
                return
            self._pumping = True
            try:
                for piece in self._window.begin():
                    self._rank.meter.begin()
                    part = self._layers[piece.layer].numbers[piece.start : piece.stop]
                    work = dist.all_reduce(part, async_op=True)
                    assert work is not None, "this worker is in the group"
                    work.get_future().then(partial(self._has_arrived, piece))
            finally:
                self._pumping = False

    def _has_arrived(self, piece: Piece, future: Future[object]) -> None:
        self._rank.meter.end()
        with self._changed:
            try:
                future.value()
            except RuntimeError as error:
                self._failure = error
            if self._window.end(piece):
                self._arrived[piece.layer] = True
            self._changed.notify_all()
        self._pump()

    def _wait(self, number: int) -> None:
        """Until a layer has arrived; then change its parameters. Raises RuntimeError where another worker is gone."""
        if self._updated[number]:
            return
        with self._changed:
            self._changed.wait_for(lambda: self._arrived[number] or self._failure is not None)
            if self._failure is not None:
                raise self._failure
        layer = self._layers[number]
        assert self._reached is not None, "there was a step"
        for parameter, gradient in zip(layer.parameters, layer.gradients, strict=True):
            parameter.grad = gradient if parameter in self._reached else None
        layer.optimiser.step()
        layer.optimiser.zero_grad()
        self._updated[number] = True
        if number == 0 and self._is_timed:
            self._credit.step(float(layer.beside))

    def _agree(self) -> None:
        """On the order: from the least times of this worker, and the mean of all."""
        counted = self._timed[1:]
        ready_s = torch.stack([timed.ready_s for timed in counted]).amin(dim=0)
        number_s = torch.stack([timed.number_s for timed in counted]).amin(dim=0)
        agreed = self._rank.mean(torch.cat([ready_s, number_s])).tolist()
        self._order = static_order(self._pieces, agreed[:-1], agreed[-1])


def _together(sizes: Sequence[int], most: int) -> list[range]:
    """Neighbours as long as a piece has room for them: a message has its price, however small it is."""
    starts, size = [0], 0
    for place, numbers in enumerate(sizes):
        if size and size + numbers > most:
            starts.append(place)
            size = 0
        size += numbers
    return [range(start, stop) for start, stop in pairwise([*starts, len(sizes)])]
