"""The training loop: optimisation steps over the store's samples, interruptible between any two of them."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
import onnxruntime as ort

from coterie_agent.errors import AgentError
from coterie_agent.store.samples import Samples
from coterie_agent.training.batches import Batch, batch_ids, make_batch
from coterie_agent.training.graph import Array, Graph, value
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.codec import Float32, Tensors
from coterie_wire.local import StepWeights
from coterie_wire.tensors import check_finite, decode_tensors, encode_tensors

_TIMED_STEPS = 100


class Trainer:
    """The state of one assignment's training.

    It starts from the received parameters, or from `start`; the proximal term holds on to what was received. It is a
    function of both, the samples, the seed and the number of steps done: stopped and resumed
    from a checkpoint, it holds the same bits as if it had never stopped.
    """

    def __init__(
        self,
        graph: Graph,
        spec: ModelSpec,
        received: Tensors,
        *,
        start: Tensors | None = None,
        samples: Samples,
        train: Sequence[int],
        weights: Callable[[int], StepWeights],
        seed: int,
    ) -> None:
        self._graph, self._spec, self._samples, self._train = graph, spec, samples, train
        self._weights, self._seed = weights, seed
        self._names = [tensor.name for tensor in spec.parameters]
        self._anchor = {f"anchor.{name}": value(received[name]) for name in self._names}
        begin = received if start is None else start
        self._parameters = [value(begin[name]) for name in self._names]
        self._velocities = [value(np.zeros_like(received[name])) for name in self._names]
        self._teacher = value(np.zeros((spec.batch_size, spec.classes), dtype=np.float32))
        self._next = [f"next.{kind}.{name}" for kind in ("param", "velocity") for name in self._names]
        self._step_s: list[float] = []
        self.steps_done = 0
        self.train_s = 0.0

    def step(self) -> None:
        """One optimisation step.

        Raises AgentError ``data.does_not_fit``, ``model.broken`` or ``agent.diverged``.
        """
        started = time.perf_counter()
        ids = batch_ids(self._train, seed=self._seed, step=self.steps_done, batch_size=self._spec.batch_size)
        batch = make_batch(self._samples.load(ids), self._spec, size=self._spec.batch_size)
        loss, *tensors = self._graph.run(["loss", *self._next], self._feeds(batch))
        if not np.isfinite(loss.numpy()):
            detail = f"the loss of step {self.steps_done} is not finite; the plan's learning rate may be too high"
            raise AgentError("agent.diverged", detail)
        count = len(self._names)
        self._parameters, self._velocities = tensors[:count], tensors[count:]
        self.steps_done += 1
        elapsed = time.perf_counter() - started
        self.train_s += elapsed
        self._step_s = [*self._step_s[1 - _TIMED_STEPS :], elapsed]

    def parameters(self) -> Tensors:
        """The parameters after the steps done."""
        return {name: cast(Float32, tensor.numpy()) for name, tensor in zip(self._names, self._parameters, strict=True)}

    def step_s(self) -> float | None:
        """Median duration of the latest steps, in seconds; None before the first."""
        return sorted(self._step_s)[len(self._step_s) // 2] if self._step_s else None

    def save(self) -> bytes:
        """Parameters and velocities as safetensors."""
        tensors: dict[str, Array] = {}
        for name, parameter, velocity in zip(self._names, self._parameters, self._velocities, strict=True):
            tensors[f"param.{name}"], tensors[f"velocity.{name}"] = parameter.numpy(), velocity.numpy()
        return encode_tensors(tensors)

    def restore(self, saved: bytes, *, steps_done: int, train_s: float) -> None:
        """Continue from what `save` gave after `steps_done` steps and `train_s` seconds.

        Raises WireError ``tensors.*``.
        """
        tensors = decode_tensors(saved, expected=_saved_specs(self._spec.parameters))
        check_finite(tensors)
        self._parameters = [value(cast(Float32, tensors[f"param.{name}"])) for name in self._names]
        self._velocities = [value(cast(Float32, tensors[f"velocity.{name}"])) for name in self._names]
        self.steps_done, self.train_s = steps_done, train_s

    def _feeds(self, batch: Batch) -> Mapping[str, ort.OrtValue]:
        weights = self._weights(self.steps_done)
        feeds = {
            "target": value(batch.target),
            "sample_weight": value(batch.sample_weight),
            "teacher": self._teacher,
            "learning_rate": _scalar(weights.learning_rate),
            "momentum": _scalar(weights.momentum),
            "proximal_weight": _scalar(weights.proximal_weight),
            "distillation_weight": _scalar(weights.distillation_weight),
        }
        feeds.update({name: value(array) for name, array in batch.inputs.items()})
        feeds.update(self._anchor)
        for name, parameter, velocity in zip(self._names, self._parameters, self._velocities, strict=True):
            feeds[f"param.{name}"], feeds[f"velocity.{name}"] = parameter, velocity
        return feeds


def train_graph(content: bytes, spec: ModelSpec, *, threads: int) -> Graph:
    """The train step, checked against the contract of `coterie_wire.bundle.ModelSpec`."""
    names = [tensor.name for tensor in spec.parameters]
    state = {f"{kind}.{name}" for kind in ("param", "anchor", "velocity") for name in names}
    scalars = {"learning_rate", "momentum", "proximal_weight", "distillation_weight"}
    inputs = {tensor.name for tensor in spec.inputs} | {"target", "sample_weight", "teacher"} | scalars | state
    outputs = {"loss", "correct"} | {f"next.{kind}.{name}" for kind in ("param", "velocity") for name in names}
    return Graph(content, inputs=frozenset(inputs), outputs=frozenset(outputs), threads=threads)


def _saved_specs(parameters: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(f"{kind}.{tensor.name}", tensor.dtype, tensor.shape)
        for tensor in parameters
        for kind in ("param", "velocity")
    )


def _scalar(number: float) -> ort.OrtValue:
    return value(np.asarray(number, dtype=np.float32))
