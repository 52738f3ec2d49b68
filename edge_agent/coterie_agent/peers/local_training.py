"""Training between rounds: the personal model on the device's new samples, batch by batch, oldest first."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import msgspec

from coterie_agent.errors import AgentError
from coterie_agent.peers.personal_model import PersonalModel
from coterie_agent.peers.reading import next_batch
from coterie_agent.store.peers import Reading
from coterie_agent.store.samples import SampleStore
from coterie_agent.training.model import Parameters
from coterie_agent.training.trainer import Trainer, open_steps, train_graph
from coterie_learning.client.optimisation import OpenSteps
from coterie_learning.client.round import local_training
from coterie_learning.client.training import Learn
from coterie_learning.device_plan import DevicePlan
from coterie_learning.local import Local

log = logging.getLogger(__name__)
_AT_A_TIME_S = 0.5
"""Seconds of training after which the parameters are stored and other work may run."""


@dataclass
class LocalTraining:
    """The train step of one version, ready for batches."""

    own: PersonalModel
    received: Parameters
    """The version's parameters: initial rows for classes that are new to the device."""
    open_steps: OpenSteps
    samples: SampleStore
    local: Local
    every_s: float
    """Least seconds between two trainings."""

    @classmethod
    def of_plan(cls, plan: DevicePlan, own: PersonalModel, samples: SampleStore, *, threads: int) -> Self | None:
        """The training of the plan; None: it trains in rounds only. Raises AgentError ``bundle.*`` or ``model.*``."""
        if plan.local_training_every_s is None:
            return None
        graph = train_graph(own.model.train_step(), own.spec, threads=threads)
        steps = open_steps(graph, frozen_tensors=own.model.frozen())
        return cls(
            own, own.model.parameters(), steps, samples, plan.local.between_rounds(), plan.local_training_every_s
        )

    def learn(
        self, reading: Reading, *, up_to: int | None, stop: Callable[[], bool], rest: Callable[[float], None]
    ) -> Reading | None:
        """Train the personal model on whole batches of the samples that are new to it, numbered `up_to` at most.

        None, and nothing has changed, if there are none, it is too early, or `stop` was true before the first batch.

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
        """Train on the samples numbered `batch`, skip them if that diverges; False, unchanged, if `stop` was true."""
        training = local_training(
            self.local,
            self.own.spec,
            self.open_steps,
            personal=self.own.parameters,
            received=self.received,
            ids=batch,
            seen=self.samples.labels(),
            seed=batch[0],
        )
        trainer = Trainer(training, self.samples)
        while isinstance(step := training.next_task(), Learn):
            if stop():
                return False
            worked_s = trainer.train_s
            try:
                trainer.learn(step)
            except AgentError as error:
                if error.code != "agent.diverged":
                    raise
                log.warning("a batch is left out: %s", error.detail)
                return True
            rest(trainer.train_s - worked_s)
        self.own.take(training.trained())
        return True
