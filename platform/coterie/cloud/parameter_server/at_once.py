"""All gradients are sent when the backward pass is over, and the model is back before the next forward pass."""

from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial

from torch import Tensor

from coterie.cloud.priority.carrier import Carrier
from coterie.cloud.priority.layers import Layer
from coterie.cloud.priority.order import Piece
from coterie.cloud.program import CloudProgram


class AtOnce:
    """Has the interface of `Transfers`."""

    def __init__(self, cloud: CloudProgram, layers: Sequence[Layer], carrier: Carrier, pieces: Sequence[Piece]) -> None:
        self._cloud, self._layers, self._carrier, self._pieces = cloud, layers, carrier, pieces

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Logits, with dropout."""
        for layer in self._layers:
            layer.came.clear()
        return self._cloud.train_logits(inputs)

    def backward_is_done(self) -> None:
        """Send all gradients, and wait for the parameters. Raises the error that prevents it."""
        for layer in self._layers:
            for place, parameter in enumerate(layer.parameters):
                if parameter.grad is not None:
                    layer.take(place)
            layer.fill()
        coming: list[Future[None]] = []
        for piece in self._pieces:
            came = Future[None]()
            coming.append(came)
            self._carrier.begin(self._layers[piece.layer], piece, partial(_resolve, came))
        for came in coming:
            came.result()
        for layer in self._layers:
            self._carrier.change(layer)

    def finish(self) -> None:
        """Nothing is in flight."""


def _resolve(came: Future[None], failure: Exception | None) -> None:
    if failure is None:
        came.set_result(None)
    else:
        came.set_exception(failure)
