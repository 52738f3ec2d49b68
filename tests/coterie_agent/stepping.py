"""Optimisation steps on stored samples, without the round around them."""

from collections.abc import Sequence

from coterie_agent.training.batches import SampleSource, make_batch
from coterie_agent.training.model import Frozen
from coterie_agent.training.trainer import open_steps, train_graph
from coterie_learning.client.optimisation import Optimisation
from coterie_learning.client.round import ClientRound, Result
from coterie_learning.client.training import Learn
from coterie_learning.local import Local, StepScalars
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Tensors


class Steady(Local, frozen=True, tag="steady"):
    """The same scalars at every step."""

    given: StepScalars

    def step_scalars(self, step: int) -> StepScalars:
        return self.given


class Stepping:
    """A training that takes the same scalars at every step."""

    def __init__(
        self,
        graph: bytes,
        model: ModelSpec,
        start: Tensors,
        frozen: Frozen,
        *,
        samples: SampleSource,
        train: Sequence[int],
        scalars: StepScalars,
        seed: int,
    ) -> None:
        self.model, self.samples = model, samples
        steps = open_steps(train_graph(graph, model, threads=1), frozen_tensors=frozen)
        self.optimisation = Optimisation(steps, model, start, inputs={}, train=train, local=Steady(scalars), seed=seed)

    @property
    def steps_done(self) -> int:
        return self.optimisation.steps_done

    def step(self) -> None:
        rows = self.samples.load(self.optimisation.batch_ids())
        self.optimisation.step(make_batch(rows, self.model, size=self.model.batch_size))

    def parameters(self) -> Tensors:
        return self.optimisation.parameters()

    def save(self) -> bytes:
        return self.optimisation.save()

    def restore(self, saved: bytes, *, steps_done: int) -> None:
        self.optimisation.restore(saved, steps_done=steps_done)


def take_part(client: ClientRound, samples: SampleSource) -> Result:
    """A round of a plan that judges no epochs, from its first step to its update."""
    training = client.training
    while isinstance(wanted := training.next_task(), Learn):
        training.learn(make_batch(samples.load(wanted.ids), training.model, size=training.model.batch_size))
    return client.finish(training.trained())
