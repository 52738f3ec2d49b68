"""Optimisation steps over the store's samples, timed."""

import time
from collections.abc import Callable, Mapping, Sequence

import psutil

from coterie_agent.errors import AgentError
from coterie_agent.training.batches import SampleSource, make_batch
from coterie_agent.training.graph import Graph
from coterie_agent.training.model import Frozen
from coterie_agent.training.steps import Steps
from coterie_learning.client.optimisation import Diverged, OpenSteps
from coterie_learning.client.training import Learn, Training
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import train_inputs, train_outputs
from coterie_wire.latency import Durations
from coterie_wire.tensors import Array, Float32, Tensors

_TIMED_STEPS = 100
Teacher = Callable[[Sequence[int]], Float32]
"""A teacher's probabilities [samples, *output] of the samples of some numbers."""


class SamplesGone(Exception):
    """None of a training's samples is on the device any more, as its owner has replaced them."""


class Trainer:
    """Carries out the steps that a training wants."""

    def __init__(self, training: Training, samples: SampleSource, *, teacher: Teacher | None = None) -> None:
        self.training, self._samples = training, samples
        self._teacher = teacher
        self._step_s: list[float] = []
        self.durations = Durations()
        """Of the steps."""
        self.train_s = 0.0
        self.memory_bytes = 0
        """Largest resident size of this process after a step: the arena keeps what a step took."""
        self._process = psutil.Process()

    def learn(self, wanted: Learn) -> int:
        """One optimisation step; how many of its samples were still on the device.

        Raises AgentError ``data.does_not_fit``, ``model.broken`` or ``agent.diverged``, or WireError
        ``plan.does_not_fit``.
        """
        started = time.perf_counter()
        rows = self._samples.load(wanted.ids)
        model = self.training.model
        teacher = None if self._teacher is None or not rows else self._teacher([row.id for row in rows])
        try:
            self.training.learn(make_batch(rows, model, size=model.batch_size), teacher)
        except Diverged as error:
            raise AgentError("agent.diverged", str(error)) from error
        elapsed = time.perf_counter() - started
        self.train_s += elapsed
        self.durations.add(elapsed)
        self._step_s = [*self._step_s[1 - _TIMED_STEPS :], elapsed]
        self.memory_bytes = max(self.memory_bytes, self._process.memory_info().rss)
        return len(rows)

    def step_s(self) -> float | None:
        """Median duration of the latest steps, in seconds; None before the first."""
        return sorted(self._step_s)[len(self._step_s) // 2] if self._step_s else None


def open_steps(graph: Graph, *, frozen_tensors: Frozen) -> OpenSteps:
    """Steps of `graph`, which gets the tensors that no training changes as they are."""

    def opened(carried: Tensors, fixed: Mapping[str, Array], *, frozen: frozenset[str]) -> Steps:
        return Steps(graph, carried, {**fixed, **frozen_tensors}, frozen=frozen)

    return opened


def train_graph(content: bytes, spec: ModelSpec, *, threads: int) -> Graph:
    """The train step, checked against the contract of `coterie_wire.bundle.ModelSpec`."""
    inputs, outputs = frozenset(train_inputs(spec)), frozenset(train_outputs(spec))
    return Graph(content, inputs=inputs, outputs=outputs, threads=threads)
