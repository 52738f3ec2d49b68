"""Training between rounds: the own model on the device's new samples, batch by batch, in the order they came in."""

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import msgspec

from coterie_agent.errors import AgentError
from coterie_agent.peers.personal_model import PersonalModel
from coterie_agent.peers.reading import next_batch
from coterie_agent.store.peers import Reading
from coterie_agent.store.samples import Samples
from coterie_agent.training.customised import Customised
from coterie_agent.training.graph import Graph
from coterie_agent.training.model import Parameters
from coterie_agent.training.trainer import Trainer, train_graph
from coterie_learning.device_plan import DevicePlan
from coterie_learning.local import Local

log = logging.getLogger(__name__)
_AT_A_TIME_S = 0.5
"""Of training, after which what was learned is stored and others have their turn."""


@dataclass
class LocalTraining:
    """The train step of one version, ready for batches."""

    own: PersonalModel
    received: Parameters
    """Of the version: where classes that are new to the device begin."""
    graph: Graph
    samples: Samples
    local: Local
    every_s: float
    """Seconds between two trainings at least."""

    @classmethod
    def of_plan(cls, plan: DevicePlan, own: PersonalModel, samples: Samples, *, threads: int) -> Self | None:
        """None where the plan trains in rounds only. Raises AgentError ``bundle.*`` or ``model.*``."""
        if plan.alone_every_s is None:
            return None
        graph = train_graph(own.model.train_step(), own.spec, threads=threads)
        return cls(own, own.model.parameters(), graph, samples, plan.local.alone(), plan.alone_every_s)

    def learn(
        self, reading: Reading, *, up_to: int | None, stop: Callable[[], bool], rest: Callable[[float], None]
    ) -> Reading | None:
        """Train the own model on whole batches of the samples that are new to it, numbered `up_to` at most.

        None, and nothing has changed, where there are none, it is too early, or `stop` said so before a batch was done.

        Raises AgentError ``data.*`` or ``model.broken``.
        """
        if 0 <= time.time() - reading.trained_at < self.every_s:
            return None
        started, trained = time.monotonic(), reading.trained
        while time.monotonic() - started < _AT_A_TIME_S:
            batch = next_batch(self.samples, trained, up_to=up_to, size=self.own.spec.batch_size)
            if not batch or not self._learn_batch(batch, stop=stop, rest=rest):
                break
            trained = batch[-1]
        if trained == reading.trained:
            return None
        return msgspec.structs.replace(reading, trained=trained, trained_at=time.time())

    def _learn_batch(self, batch: Sequence[int], *, stop: Callable[[], bool], rest: Callable[[float], None]) -> bool:
        """Whether the device is done with the samples numbered `batch`; if not, nothing has changed."""
        part = Customised.of_device(self.own.spec, self.local.scope(), self.samples.seen())
        trainer = Trainer(
            self.graph,
            self.own.spec,
            part.go_on(self.own.parameters, self.received),
            self.own.model.frozen(),
            samples=self.samples,
            train=batch,
            weights=self.local.weights,
            seed=batch[0],
            still=part.still(),
        )
        steps = self.local.epochs_wanted() * math.ceil(len(batch) / self.own.spec.batch_size)
        while trainer.steps_done < steps:
            if stop():
                return False
            worked_s = trainer.train_s
            try:
                trainer.step()
            except AgentError as error:
                if error.code != "agent.diverged":
                    raise
                log.warning("a batch is left out: %s", error.detail)
                return True
            rest(trainer.train_s - worked_s)
        self.own.take({name: tensor.copy() for name, tensor in trainer.parameters().items()})
        return True
