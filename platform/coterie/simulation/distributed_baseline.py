"""The distributed baseline: servers train one model together, each on its share of every batch."""

from itertools import pairwise

import numpy as np

from coterie.evaluation.datasets import Dataset
from coterie.simulation.baselines.distributed import Distributed
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learner import Learner
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.ledger import Ledger
from coterie_learning.random import derive_seed
from coterie_wire.tensors import Tensors


class DistributedBaseline:
    """`servers` servers take `period` steps each from the same parameters, which are then averaged.

    With a period of 1 this is descent along the mean gradient of all their samples.
    """

    def __init__(self, how: Distributed, ledger: Ledger) -> None:
        self._how, self._ledger = how, ledger

    def __call__(self, former: Learner, new: Dataset, seed: int) -> Learner:
        """Raises DoesNotFit where the model is no neural network."""
        if not isinstance(former, NeuralLearner):
            raise DoesNotFit(detail="servers average the parameters of neural networks, and the scenario has another")
        order = np.random.default_rng(seed)
        for epoch in range(self._how.epochs):
            former = self._pass(former, new.take(order.permutation(len(new.labels))), derive_seed(seed, "pass", epoch))
        return former

    def _pass(self, learner: NeuralLearner, data: Dataset, seed: int) -> NeuralLearner:
        """Each exchange uses the next samples; the last one's shares may be smaller, and weigh accordingly."""
        how, batch = self._how, learner.graphs.spec.batch_size
        at_once = how.servers * how.period * batch
        for start in range(0, len(data.labels), at_once):
            part = data.take(slice(start, start + at_once))
            bounds = np.linspace(0, len(part.labels), how.servers + 1).astype(int)
            shares = [part.take(slice(*ends)) for ends in pairwise(bounds)]
            trained = [(share, learner.learn(share, seed=seed + start)) for share in shares if len(share.labels)]
            mean = _mean([(len(share.labels), one.parameters) for share, one in trained])
            seen = tuple(sorted({*learner.seen, *part.labels.tolist()}))
            if how.servers > 1:
                sent = how.models_sent()
                self._ledger.count("gradients", sent * learner.size_bytes, messages=sent)
            learner = learner.with_seen(mean, seen)
        return learner


def _mean(weighted: list[tuple[int, Tensors]]) -> Tensors:
    total = sum(weight for weight, _ in weighted)
    shares = np.array([weight / total for weight, _ in weighted])
    return {
        name: np.tensordot(shares, np.stack([one[name] for _, one in weighted]), axes=1).astype(np.float32)
        for name in weighted[0][1]
    }
