"""Sends layers' numbers as the backward pass computes them, and receives them as the next forward pass needs them."""

import time
from collections.abc import Sequence
from functools import partial
from threading import Condition
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.cloud.priority.carrier import Carrier
from coterie.cloud.priority.credit import Credit
from coterie.cloud.priority.gates import gated
from coterie.cloud.priority.layers import Layer
from coterie.cloud.priority.order import Piece, cut, static_order
from coterie.cloud.priority.window import Window
from coterie.cloud.program import CloudProgram

TIMED_STEPS = 3
"""In each, nothing is sent before its backward pass is over; the first is not counted, as it allocates memory."""


class _Timed(NamedTuple):
    """Measurements of a step in which nothing was sent during its backward pass."""

    ready_s: Tensor
    """[layers], from the beginning of the backward pass."""
    number_s: Tensor
    """For each number that was sent."""


class Transfers:
    """Call `forward`, let the gradients be computed, and call `backward_is_done`; `finish` before the model is read."""

    def __init__(self, cloud: CloudProgram, layers: Sequence[Layer], carrier: Carrier, *, most: int) -> None:
        """`most`: numbers of a piece. The duration of the last step is sent beside the first layer, where it has
        room.
        """
        self._cloud, self._layers, self._carrier = cloud, layers, carrier
        waits = {name: partial(self._wait, number) for number, layer in enumerate(layers) for name in layer.names}
        self._graph = gated(cloud, waits)
        self._pieces = cut([len(layer.numbers) for layer in layers], most)
        self._order = self._pieces
        self._timed: list[_Timed] = []
        self._knows_reached = False
        self._expected: list[int] = [len(layer.parameters) for layer in layers]
        self._credit, self._step_s, self._since = Credit(), 0.0, time.perf_counter()
        self._begun = 0.0
        self._changed = Condition()
        self._pumping = False
        self._arrived = [True] * len(layers)
        self._updated = [True] * len(layers)
        self._ready_s = torch.zeros(len(layers), dtype=torch.float64)
        self._failure: Exception | None = None
        self._window = Window((), credit=1)
        for number, layer in enumerate(layers):
            for place, parameter in enumerate(layer.parameters):
                parameter.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                    partial(self._on_gradient, number, place)
                )

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Logits, with dropout. Each parameter is updated with the former step's gradients just before it is used."""
        output = self._cloud.train_by(self._graph, inputs)
        now = time.perf_counter()
        self._step_s, self._since, self._begun = now - self._since, now, now
        for layer in self._layers:
            layer.came.clear()
        with self._changed:
            self._arrived = [False] * len(self._layers)
            self._updated = [False] * len(self._layers)
            self._window = Window(self._order, credit=self._credit.pieces if self._is_timed else len(self._order))
        return output

    def backward_is_done(self) -> None:
        """All gradients of this step are computed; missing ones count as zeros."""
        if not self._knows_reached:
            # Operators are the same at every step, so gradients reach the same parameters.
            self._carrier.know_reached(self._layers)
            self._expected = [len(layer.came) for layer in self._layers]
            self._knows_reached = True
        over = time.perf_counter()
        for number, layer in enumerate(self._layers):
            if not self._is_timed or len(layer.came) < self._expected[number] or self._expected[number] == 0:
                self._send(number)
        if not self._is_timed:
            self.finish()
            count = sum(len(layer.numbers) for layer in self._layers)
            number_s = torch.tensor([(time.perf_counter() - over) / count], dtype=torch.float64)
            self._timed.append(_Timed(self._ready_s.clone(), number_s))
            if self._is_timed:
                self._agree()

    def finish(self) -> None:
        """Wait until all parameters are updated."""
        for number in range(len(self._layers)):
            self._wait(number)

    @property
    def _is_timed(self) -> bool:
        return len(self._timed) >= TIMED_STEPS

    def _on_gradient(self, number: int, place: int, _parameter: Tensor) -> None:
        """Called when a gradient is computed."""
        layer = self._layers[number]
        layer.take(place)
        self._ready_s[number] = time.perf_counter() - self._begun
        if self._is_timed and len(layer.came) == self._expected[number]:
            self._send(number)

    def _send(self, number: int) -> None:
        layer = self._layers[number]
        layer.fill()
        layer.beside.fill_(self._step_s)
        with self._changed:
            self._window.ready(number)
        self._pump()

    def _pump(self) -> None:
        """Begin the transfers that may begin. One that arrives immediately calls this again, and leaves the work to
        the running call.
        """
        with self._changed:
            if self._pumping:
                return
            self._pumping = True
            try:
                for piece in self._window.begin():
                    self._carrier.begin(self._layers[piece.layer], piece, partial(self._has_arrived, piece))
            finally:
                self._pumping = False

    def _has_arrived(self, piece: Piece, failure: Exception | None) -> None:
        with self._changed:
            if failure is not None:
                self._failure = failure
            if self._window.end(piece):
                self._arrived[piece.layer] = True
            self._changed.notify_all()
        self._pump()

    def _wait(self, number: int) -> None:
        """Wait until a layer has arrived; then change its parameters. Raises the error that prevents it."""
        if self._updated[number]:
            return
        with self._changed:
            self._changed.wait_for(lambda: self._arrived[number] or self._failure is not None)
            if self._failure is not None:
                raise self._failure
        layer = self._layers[number]
        self._carrier.change(layer)
        self._updated[number] = True
        if number == 0 and self._is_timed:
            self._credit.step(float(layer.beside) if len(layer.beside) else self._step_s)

    def _agree(self) -> None:
        """Agree on the order: from this worker's least times, combined by the carrier."""
        counted = self._timed[1:]
        ready_s = torch.stack([timed.ready_s for timed in counted]).amin(dim=0)
        number_s = torch.stack([timed.number_s for timed in counted]).amin(dim=0)
        agreed = self._carrier.agree(torch.cat([ready_s, number_s])).tolist()
        self._order = static_order(self._pieces, agreed[:-1], agreed[-1])
