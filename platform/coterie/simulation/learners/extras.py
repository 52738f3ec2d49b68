"""Extra learners beside a device's own network: helpers' models, weighted on each batch, dropped at small weights."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie_learning.portions.learner import boost_weights, opinion, vote, worth_keeping
from coterie_wire.tensors import Float32, Tensors

Predict = Callable[[Tensors], Float32]
"""Probabilities [n, classes] of some samples by a network with these parameters."""


class Extra(NamedTuple):
    """A helper's model, frozen."""

    parameters: Tensors
    classes: tuple[int, ...]
    """The requested classes; it gives no probability to others."""


class Extras(NamedTuple):
    """The extra learners of a device, with the weights of all learners: the own network's first."""

    learners: tuple[Extra, ...] = ()
    weights: tuple[float, ...] = (1.0,)

    def predict(self, own: Float32, predict: Predict) -> Float32:
        """The weighted mean of all learners' probabilities, where the own network's are `own` [n, classes]."""
        return vote(self._voices(own, predict), self.weights) if self.learners else own

    def with_learner(self, extra: Extra, own: Float32, predict: Predict, labels: NDArray[np.int64]) -> Self | None:
        """With one more, weighted on samples with `labels`; None where its weight would be too small."""
        more = self._replace(learners=(*self.learners, extra)).weighed(own, predict, labels)
        return more if more.learners and more.learners[-1] is extra else None

    def weighed(self, own: Float32, predict: Predict, labels: NDArray[np.int64]) -> Self:
        """With new weights from samples that no learner has trained on; learners with small weights are dropped."""
        if not self.learners:
            return self
        voices = self._voices(own, predict)
        keep = worth_keeping(boost_weights(voices, labels))
        kept = [voice for voice, stays in zip(voices, keep, strict=True) if stays]
        learners = tuple(extra for extra, stays in zip(self.learners, keep[1:], strict=True) if stays)
        return self._replace(learners=learners, weights=tuple(boost_weights(kept, labels).tolist()))

    def _voices(self, own: Float32, predict: Predict) -> Sequence[Float32]:
        return [own, *(opinion(own, predict(extra.parameters), extra.classes) for extra in self.learners)]


NO_EXTRAS = Extras()
"""The own network alone."""
