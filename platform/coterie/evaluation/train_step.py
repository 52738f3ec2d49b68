"""Runs a compiled train step as a device does; NumPy and onnxruntime only."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import NOTHING_FROZEN, Frozen, open_session
from coterie_learning.local import StepScalars
from coterie_learning.random import step_seed
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import DISTILLATION, at_length, step_state, train_outputs, version_names
from coterie_wire.tensors import Array, Float32, Tensors, decode_tensors, encode_tensors, read_header

Arrays = Mapping[str, NDArray[np.generic]]
STEPS = TensorSpec("steps", "int64", ())
BESIDE = "beside."
"""Prefix of the names of tensors that a checkpoint stores beside the state of training."""


class Training(NamedTuple):
    """The state of training; a step returns the next one."""

    parameters: Tensors
    """With the running statistics: the tensors of a version."""
    optimiser_state: Tensors
    steps: int = 0
    """Done so far."""


class Batch(NamedTuple):
    """At most `batch_size` samples, and the teacher's outputs for them where there is a teacher."""

    dataset: Dataset
    teacher: Float32 | None = None
    """[n, *output]: probabilities, or values."""


class StepOutcome(NamedTuple):
    """The result of one step."""

    training: Training
    loss: float
    correct: float
    """Samples that the parameters before the step classified correctly; 0 where the task has no correct class."""


def encode_training(training: Training, model: ModelSpec, beside: Mapping[str, Array]) -> bytes:
    """`training`, and the tensors `beside` it, as a tensor file."""
    names = version_names(model)
    return encode_tensors(
        {names[name]: tensor for name, tensor in training.parameters.items()}
        | dict(training.optimiser_state)
        | {STEPS.name: np.array(training.steps, np.int64)}
        | {f"{BESIDE}{name}": array for name, array in beside.items()}
    )


def decode_training(saved: bytes, model: ModelSpec) -> tuple[Training, Mapping[str, Array]]:
    """The inverse of `encode_training`. Raises WireError ``tensors.*``."""
    kept = [spec for name, spec in read_header(saved).specs.items() if name.startswith(BESIDE)]
    tensors = decode_tensors(saved, expected=(*step_state(model), STEPS, *kept))
    versions, slots = version_names(model), [slot.name for slot in model.optimiser_state]
    floats = {name: tensors[name].astype(np.float32) for name in (*versions.values(), *slots)}
    training = Training(
        {name: floats[role] for name, role in versions.items()},
        {name: floats[name] for name in slots},
        int(tensors[STEPS.name]),
    )
    return training, {spec.name.removeprefix(BESIDE): tensors[spec.name] for spec in kept}


class DeviceSteps:
    """A train step graph, opened."""

    def __init__(self, train_step: bytes, model: ModelSpec, frozen: Frozen = NOTHING_FROZEN, *, seed: int = 0) -> None:
        """`frozen` are the tensors of `ModelSpec.frozen`; `seed` is that of the model's noise."""
        self._session = open_session(train_step)
        self._model, self._frozen, self._seed = model, frozen, seed
        self._outputs = list(train_outputs(model))

    def begin(self, parameters: Tensors) -> Training:
        """Training from the tensors of a version, before the first step and with zero optimiser state."""
        return Training(
            parameters, {slot.name: np.zeros(slot.shape, np.float32) for slot in self._model.optimiser_state}
        )

    def step(
        self, training: Training, batch: Batch, weights: StepScalars, anchors: Tensors | None = None
    ) -> StepOutcome:
        """One optimisation step; `anchors` are the proximal term's centre, by default where the parameters are.

        Raises WireError ``plan.does_not_fit`` where `weights` need an input that the graph was compiled without.
        """
        model, tensors = self._model, training.parameters
        scalars = weights.scalars(model.scalars, step=training.steps)
        centre = tensors if anchors is None else anchors
        names = version_names(model)
        feed: dict[str, NDArray[np.generic]] = {
            **self._padded(batch),
            **{name: np.array(value, np.float32) for name, value in scalars.items()},
            **{names[name]: tensor for name, tensor in tensors.items()},
            **{f"anchor.{spec.name}": centre[spec.name] for spec in model.parameters},
            **training.optimiser_state,
            **self._frozen,
        }
        if model.seeded:
            feed["seed"] = np.array(step_seed(self._seed, training.steps), np.int64)
        results = dict(zip(self._outputs, self._run(feed), strict=True))
        return StepOutcome(
            training=Training(
                {name: results[f"next.{role}"] for name, role in names.items()},
                {slot.name: results[f"next.{slot.name}"] for slot in model.optimiser_state},
                training.steps + 1,
            ),
            loss=float(results["loss"]),
            correct=float(results.get("correct", 0.0)),
        )

    def _run(self, feed: Arrays) -> list[Float32]:
        found: list[Float32] = self._session.run(self._outputs, feed)
        return found

    def _padded(self, batch: Batch) -> Arrays:
        """The batch padded to its fixed size with copies of its first sample, whose weight is 0."""
        model = self._model
        count, size = len(batch.dataset.labels), model.batch_size
        assert 0 < count <= size, "a batch is neither empty nor larger than the graph's"
        rows = np.concatenate([np.arange(count), np.zeros(size - count, np.int64)])
        filled = batch.dataset.take(rows)
        padded: dict[str, NDArray[np.generic]] = {
            **filled.inputs,
            model.target.name: filled.labels,
            "sample_weight": (np.arange(size) < count).astype(np.float32),
        }
        if DISTILLATION in model.scalars:
            silent = np.zeros((count, *self._output_shape(batch)), np.float32)
            padded["teacher"] = (silent if batch.teacher is None else batch.teacher)[rows]
        return padded

    def _output_shape(self, batch: Batch) -> tuple[int, ...]:
        """Of one sample, at the batch's length."""
        model = self._model
        if model.length is UNSET:
            return model.output.shape
        found = model.length.found_in({name: array.shape[1:] for name, array in batch.dataset.inputs.items()})
        assert found is not None, "a data set is checked when it is read"
        return at_length(model, found).output.shape
