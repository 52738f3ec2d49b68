"""Sends pieces of gradients to their servers, and receives the changed parameters."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future

import torch
from torch import Tensor

from coterie.cloud.arrays import tensor_of
from coterie.cloud.exchange.frames import Frame
from coterie.cloud.meter import Meter
from coterie.cloud.parameter_server.division import STATISTICS_SERVER, Division
from coterie.cloud.parameter_server.links import Links
from coterie.cloud.parameter_server.messages import IDLE, LOSS, NUMBERS, PIECE, PULL, PUSH, STEP, WHAT, WHERE
from coterie.cloud.priority.carrier import Done
from coterie.cloud.priority.layers import Layer
from coterie.cloud.priority.order import Piece
from coterie_wire.tensors import Array, Float32


class Pieces:
    """A worker's communication with the servers, with the interface that `Transfers` and `AtOnce` expect."""

    def __init__(self, division: Division, links: Links, meter: Meter) -> None:
        self._division, self._links, self._meter = division, links, meter
        self._number_of = {piece: number for number, piece in enumerate(division.pieces)}
        self.step = 0
        """The one whose gradients are pushed."""
        self.counts = True
        """Whether this worker has samples in it."""

    def find_step(self) -> int:
        """The first step that this worker has not pushed for all pieces. Raises ConnectionError."""
        answers = [self._links.ask(server, {WHAT: WHERE}, {}) for server in range(self._division.servers)]
        return min(int(answer.result().words[STEP]) for answer in answers)

    @torch.no_grad()
    def pull(self, layers: Sequence[Layer], step: int) -> Float32:
        """Set parameters to their values before `step`; returns the statistics. Raises ConnectionError."""

        def ask(number: int, server: int) -> Future[Frame]:
            return self._links.ask(server, {WHAT: PULL, PIECE: str(number), STEP: str(step)}, {})

        answers = [ask(number, server) for number, server in enumerate(self._division.server_of)]
        statistics = ask(self._division.statistics, STATISTICS_SERVER)
        for piece, answer in zip(self._division.pieces, answers, strict=True):
            _put(layers[piece.layer], piece, answer.result())
        for layer in layers:
            self.change(layer)
        return numbers_of(statistics.result())

    def push_statistics(self, numbers: Float32, loss: float) -> Future[Frame]:
        """Push the statistics after this step's forward pass, and its loss; the answer has the new statistics."""
        return self._push(self._division.statistics, STATISTICS_SERVER, {IDLE: "[]", LOSS: repr(loss)}, numbers)

    def begin(self, layer: Layer, piece: Piece, done: Done) -> None:
        """Push gradients; the parameters that they change come back."""
        number = self._number_of[piece]
        said = {IDLE: json.dumps(sorted(layer.idle())), LOSS: "0"}
        answer = self._push(number, self._division.server_of[number], said, _part(layer, piece).numpy())

        def came(answer: Future[Frame]) -> None:
            failure = answer.exception()
            if failure is None:
                _put(layer, piece, answer.result())
            done(failure if failure is None or isinstance(failure, Exception) else RuntimeError(repr(failure)))

        answer.add_done_callback(came)

    @torch.no_grad()
    def change(self, layer: Layer) -> None:
        """Set parameters to the received values."""
        for parameter, part in zip(layer.parameters, layer.parts, strict=True):
            parameter.copy_(part)

    def know_reached(self, layers: Sequence[Layer]) -> None:
        """Does nothing: servers are told at each step."""

    def agree(self, seconds: Tensor) -> Tensor:
        """Agrees on nothing: each worker has its own order."""
        return seconds

    def _push(self, number: int, server: int, said: Mapping[str, str], numbers: Float32) -> Future[Frame]:
        words = {**said, WHAT: PUSH, PIECE: str(number), STEP: str(self.step)}
        tensors: dict[str, Array] = {NUMBERS: numbers} if self.counts else {}
        self._meter.begin()
        answer = self._links.ask(server, words, tensors)
        answer.add_done_callback(lambda _answer: self._meter.end())
        return answer


def _part(layer: Layer, piece: Piece) -> Tensor:
    return layer.numbers[piece.start : piece.stop]


def _put(layer: Layer, piece: Piece, frame: Frame) -> None:
    _part(layer, piece).copy_(tensor_of(numbers_of(frame)))


def numbers_of(frame: Frame) -> Float32:
    """The numbers in a server's answer."""
    found: Float32 = frame.tensors[NUMBERS]  # type: ignore[assignment]  # servers keep float32
    return found
