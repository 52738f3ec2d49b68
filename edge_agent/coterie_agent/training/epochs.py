"""Epochs that are judged by the samples held out: the best is kept, and training stops when none better comes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from coterie_agent.store.samples import Samples
from coterie_agent.training.predictor import Predictor
from coterie_agent.training.trainer import Trainer
from coterie_learning.local import Stopping
from coterie_learning.stopping import Watched, is_over, judge_epoch
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors, decode_tensors, encode_tensors


@dataclass(kw_only=True)
class Epochs:
    """Where early stopping stands, between two steps; without `stopping` every epoch is the best."""

    stopping: Stopping | None
    steps: int
    """Of one epoch."""
    held_out: Sequence[int]
    predictor: Predictor
    samples: Samples
    stop: Callable[[], bool]
    watched: Watched
    best: bytes | None
    """Parameters of the best epoch, as safetensors."""

    @property
    def is_over(self) -> bool:
        """Whether nothing better has come for so long that nothing better will."""
        return self.stopping is not None and is_over(self.watched, self.stopping)

    def is_due(self, steps_done: int) -> bool:
        """Whether an epoch has ended that is to be judged."""
        return self.stopping is not None and steps_done >= (self.watched.epochs + 1) * self.steps

    def judge(self, trainer: Trainer) -> bool:
        """Judge the epoch that has just ended, if one has; False if `stop` said so before, and it is still to do.

        Raises AgentError ``agent.diverged`` or ``model.broken``.
        """
        if self.stopping is None or not self.is_due(trainer.steps_done):
            return True
        parameters = trainer.parameters()
        self.predictor.set_parameters(parameters)
        found = self.predictor.measure(self.samples, loss_of=self.held_out, accuracy_of=(), stop=self.stop)
        if found is None:
            return False
        judged = judge_epoch(self.watched, found.loss, self.stopping)
        self.watched = judged.watched
        if judged.is_best:
            self.best = encode_tensors(dict(parameters))
        return True

    def best_of(self, latest: Tensors, specs: tuple[TensorSpec, ...]) -> Tensors:
        """The parameters to keep, `latest` being those after the last step."""
        if self.best is None:
            return latest
        return {
            name: np.asarray(tensor, np.float32) for name, tensor in decode_tensors(self.best, expected=specs).items()
        }
