"""The training loop: optimisation steps over the store's samples, interruptible between any two of them."""

import time
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import psutil

from coterie_agent.errors import AgentError
from coterie_agent.store.samples import Samples
from coterie_agent.training.batches import Batch, batch_ids, make_batch
from coterie_agent.training.graph import Graph, value
from coterie_agent.training.model import Frozen
from coterie_agent.training.steps import Steps
from coterie_learning.local import StepScalars
from coterie_learning.random import step_seed
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import (
    DISTILLATION,
    carried,
    length_axes,
    train_inputs,
    train_outputs,
    version_names,
)
from coterie_wire.tensors import Array, Float32, Tensors, check_finite, decode_tensors, encode_tensors

_TIMED_STEPS = 100


class Trainer:
    """The state of one assignment's training.

    It starts from the received tensors, or from `start`; the proximal term holds on to what was received. It is a
    function of both, the samples, the seed and the number of steps done: stopped and resumed
    from a checkpoint, it holds the same bits as if it had never stopped.
    """

    def __init__(
        self,
        graph: Graph,
        spec: ModelSpec,
        received: Tensors,
        frozen: Frozen,
        *,
        start: Tensors | None = None,
        samples: Samples,
        train: Sequence[int],
        weights: Callable[[int], StepScalars],
        seed: int,
        still: frozenset[str] = frozenset(),
        teacher: Callable[[Sequence[int]], Float32] | None = None,
    ) -> None:
        """`received` are the tensors of a version, `frozen` those that all versions share.

        No step changes the tensors `still` of a version. `teacher` gives the probabilities [n, classes] of n samples.
        """
        self._spec, self._samples, self._train = spec, samples, train
        self._weights, self._seed = weights, seed
        self._roles = version_names(spec)
        self._ask = teacher if DISTILLATION in spec.scalars else None
        self._carried = [tensor.name for tensor in carried(spec)]
        fixed = {f"anchor.{tensor.name}": value(received[tensor.name]) for tensor in spec.parameters}
        fixed.update({name: value(tensor) for name, tensor in frozen.items()})
        if DISTILLATION in spec.scalars and "teacher" not in length_axes(spec):
            fixed["teacher"] = value(np.zeros((spec.batch_size, *spec.output.shape), dtype=np.float32))
        begin = received if start is None else start
        state = {role: begin[name] for name, role in self._roles.items()}
        state.update({slot.name: np.zeros(slot.shape, dtype=np.float32) for slot in spec.slots})
        self._steps = Steps(graph, state, fixed, still=frozenset(self._roles[name] for name in still))
        self._step_s: list[float] = []
        self.steps_done = 0
        self.train_s = 0.0
        self.memory_bytes = 0
        """Largest resident size of this process after a step: the arena keeps what a step took."""
        self._process = psutil.Process()

    def step(self) -> None:
        """One optimisation step.

        Raises AgentError ``data.does_not_fit``, ``model.broken`` or ``agent.diverged``, or WireError
        ``plan.does_not_fit``.
        """
        started = time.perf_counter()
        ids = batch_ids(self._train, seed=self._seed, step=self.steps_done, batch_size=self._spec.batch_size)
        rows = self._samples.load(ids)
        batch = make_batch(rows, self._spec, size=self._spec.batch_size)
        feeds = self._feeds(batch)
        if self._ask is not None and rows:
            teacher = np.zeros((self._spec.batch_size, *self._spec.output.shape), dtype=np.float32)
            teacher[: len(rows)] = self._ask([row.id for row in rows])
            feeds["teacher"] = teacher
        if not np.isfinite(self._steps.run(feeds)):
            detail = f"the loss of step {self.steps_done} is not finite; the plan's learning rate may be too high"
            raise AgentError("agent.diverged", detail)
        self._steps.advance()
        self.steps_done += 1
        elapsed = time.perf_counter() - started
        self.train_s += elapsed
        self._step_s = [*self._step_s[1 - _TIMED_STEPS :], elapsed]
        self.memory_bytes = max(self.memory_bytes, self._process.memory_info().rss)

    def parameters(self) -> Tensors:
        """The tensors of a version, parameters and statistics, after the steps done."""
        return {name: self._steps.read(role) for name, role in self._roles.items()}

    def step_s(self) -> float | None:
        """Median duration of the latest steps, in seconds; None before the first."""
        return sorted(self._step_s)[len(self._step_s) // 2] if self._step_s else None

    def save(self) -> bytes:
        """Parameters, statistics and what the optimiser remembers, as safetensors."""
        return encode_tensors({name: self._steps.read(name) for name in self._carried})

    def restore(self, saved: bytes, *, steps_done: int, train_s: float, memory_bytes: int) -> None:
        """Continue from what `save` gave after `steps_done` steps and `train_s` seconds, in at most `memory_bytes`.

        Raises WireError ``tensors.*``.
        """
        tensors = decode_tensors(saved, expected=carried(self._spec))
        check_finite(tensors)
        self._steps.write({name: cast(Float32, tensor) for name, tensor in tensors.items()})
        self.steps_done, self.train_s, self.memory_bytes = steps_done, train_s, memory_bytes

    def _feeds(self, batch: Batch) -> dict[str, Array]:
        scalars = self._weights(self.steps_done).scalars(self._spec.scalars, step=self.steps_done)
        feeds: dict[str, Array] = {
            self._spec.target.name: batch.target,
            "sample_weight": batch.sample_weight,
            **{name: np.asarray(number, dtype=np.float32) for name, number in scalars.items()},
            **batch.inputs,
        }
        if DISTILLATION in self._spec.scalars and "teacher" in length_axes(self._spec):
            # No teacher speaks of sequences: silence, as long as the batch.
            feeds["teacher"] = np.zeros((*batch.target.shape, self._spec.output.shape[-1]), dtype=np.float32)
        if self._spec.seeded:
            feeds["seed"] = np.asarray(step_seed(self._seed, self.steps_done), dtype=np.int64)
        return feeds


def train_graph(content: bytes, spec: ModelSpec, *, threads: int) -> Graph:
    """The train step, checked against the contract of `coterie_wire.bundle.ModelSpec`."""
    inputs, outputs = frozenset(train_inputs(spec)), frozenset(train_outputs(spec))
    return Graph(content, inputs=inputs, outputs=outputs, threads=threads)
