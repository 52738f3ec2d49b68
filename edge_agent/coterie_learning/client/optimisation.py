"""Optimisation steps: the samples and graph inputs of each step, and the tensors of a checkpoint."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol, cast

import msgspec
import numpy as np

from coterie_learning.client.order import batch_ids, steps_per_epoch
from coterie_learning.local import GRADIENT_RATE, Layers, Local
from coterie_learning.random import step_seed
from coterie_learning.subsets import Positions, pick_chosen, place_chosen
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import DISTILLATION, PARAMETER_ROLES, length_axes, step_state, version_names
from coterie_wire.tensors import Array, Float32, Tensors, check_finite, decode_tensors, encode_tensors


class Batch(NamedTuple):
    """Samples as the graphs take them, filled up to the batch size."""

    inputs: Mapping[str, Array]
    """Each [size, *shape of one sample]."""
    target: Array
    """[size, *target of one sample]."""
    sample_weight: Float32
    """[size]; 1 for a sample, 0 for padding."""


class Steps(Protocol):
    """A train step graph and the tensors carried from one step to the next, by the names of the graph's inputs."""

    def run(self, given: Mapping[str, Array]) -> float:
        """Run a step with all other inputs `given`; return its loss. Its outputs are used once `advance` is called."""

    def advance(self) -> None:
        """Continue from the outputs of the latest step."""

    def read(self, name: str) -> Float32:
        """A copy of the tensor `name` that the next step takes."""

    def write(self, carried: Tensors) -> None:
        """Continue from `carried` instead of the outputs of the latest step."""


class OpenSteps(Protocol):
    """Opens the train step graph of one model."""

    def __call__(self, carried: Tensors, fixed: Mapping[str, Array], *, frozen: frozenset[str]) -> Steps:
        """Steps from `carried`; `fixed` inputs are the same in every step, and no step changes those `frozen`."""


class Diverged(Exception):
    """The loss of a step is not finite; nothing has changed."""

    def __init__(self, step: int) -> None:
        super().__init__(f"the loss of step {step} is not finite; the plan's learning rate may be too high")


class Optimisation:
    """The state of the optimisation between two steps.

    It is a function of its arguments and the number of steps done: restored from `save`, it holds the same bits as if
    it had never stopped.
    """

    def __init__(
        self,
        open_steps: OpenSteps,
        model: ModelSpec,
        start: Tensors,
        *,
        inputs: Mapping[str, Tensors],
        train: Sequence[int],
        local: Local,
        seed: int,
        frozen: frozenset[str] = frozenset(),
        personal: frozenset[str] = frozenset(),
        chosen: Mapping[str, Positions] = MappingProxyType({}),
    ) -> None:
        """`start` are the tensors of a version; `inputs` are those that a step takes by parameter, by their roles.

        Where `inputs` lack a role of the graph, `start` is used for it. No step changes the `frozen` tensors of
        `start`. `personal` are the parameters that stay on the device. Where only some elements of a tensor are
        `chosen`, the others keep their values from `start`.
        """
        self._model, self._train, self._local, self._seed = model, train, local, seed
        self._roles = version_names(model)
        self._carried = [tensor.name for tensor in step_state(model)]
        fixed: dict[str, Array] = {
            f"{role}.{tensor.name}": inputs.get(role, start)[tensor.name]
            for role in PARAMETER_ROLES
            for tensor in model.parameters
        }
        if DISTILLATION in model.scalars and "teacher" not in length_axes(model):
            fixed["teacher"] = np.zeros((model.batch_size, *model.output.shape), dtype=np.float32)
        begin = {role: start[name] for name, role in self._roles.items()}
        begin.update({tensor.name: np.zeros(tensor.shape, dtype=np.float32) for tensor in model.optimiser_state})
        self._steps = open_steps(begin, fixed, frozen=frozenset(self._roles[name] for name in frozen))
        parameters = {spec.name for spec in model.parameters}
        self._layers: Mapping[Layers, frozenset[str]] = {
            "personal": personal,
            "shared": frozenset(parameters - personal),
        }
        self._chosen = chosen
        self._start: Tensors = {name: start[name] for name in chosen}
        self._epoch = steps_per_epoch(len(train), model.batch_size)
        self._gradients: list[Tensors] = []
        """Of the step that is under way, where a step has several."""
        self._begun: Tensors = {}
        """Where it began."""
        self.steps_done = 0

    def batch_ids(self) -> list[int]:
        """The numbers of the samples that the next step trains on."""
        number = self._local.batch(self.steps_done)
        return batch_ids(self._train, seed=self._seed, step=number, batch_size=self._model.batch_size)

    def step(self, batch: Batch, teacher: Float32 | None = None) -> None:
        """One step; `teacher` [samples of the batch, *output] are a teacher's probabilities.

        Raises Diverged, WireError ``plan.does_not_fit``, and what the graph raises.
        """
        feeds = self._feeds(batch)
        if teacher is not None:
            filled = np.zeros((self._model.batch_size, *self._model.output.shape), dtype=np.float32)
            filled[: len(teacher)] = teacher
            feeds["teacher"] = filled
        frozen = self._local.frozen_layers(self.steps_done, self._epoch)
        roles = [] if frozen is None else [self._roles[name] for name in self._layers[frozen]]
        before = {role: self._steps.read(role) for role in roles}
        if not np.isfinite(self._steps.run(feeds)):
            raise Diverged(self.steps_done)
        if self._local.runs() == 1:
            self._steps.advance()
        else:
            self._move()
        self._steps.write(before)
        self._undo_unchosen()
        self.steps_done += 1

    def parameters(self) -> Tensors:
        """The tensors of a version, parameters and statistics, after the last complete step."""
        return {**{name: self._steps.read(role) for name, role in self._roles.items()}, **self._begun}

    def save(self) -> bytes:
        """Parameters, statistics, optimiser state and the unfinished step, as safetensors."""
        under_way = [self._begun, *self._gradients] if self._gradients else []
        return encode_tensors(
            {name: self._steps.read(name) for name in self._carried}
            | {f"{place}/{name}": tensor for place, one in enumerate(under_way) for name, tensor in one.items()}
        )

    def restore(self, saved: bytes, *, steps_done: int) -> None:
        """Continue from what `save` returned after `steps_done` steps. Raises WireError ``tensors.*``."""
        specs, parameters = step_state(self._model), self._model.parameters
        done = steps_done % self._local.runs()
        places = range(done + 1) if done else ()
        beside = [TensorSpec(f"{place}/{spec.name}", "float32", spec.shape) for place in places for spec in parameters]
        tensors = decode_tensors(saved, expected=(*specs, *beside))
        check_finite(tensors)
        self._steps.write({spec.name: cast(Float32, tensors[spec.name]) for spec in specs})
        under_way: list[Tensors] = [
            {spec.name: cast(Float32, tensors[f"{place}/{spec.name}"]) for spec in parameters} for place in places
        ]
        self._begun, self._gradients = (under_way[0], under_way[1:]) if under_way else ({}, [])
        self.steps_done = steps_done

    def _undo_unchosen(self) -> None:
        if self._chosen:
            after = {name: self._steps.read(self._roles[name]) for name in self._chosen}
            found = place_chosen(pick_chosen(after, self._chosen), self._chosen, self._start)
            self._steps.write({self._roles[name]: tensor for name, tensor in found.items()})

    def _move(self) -> None:
        """Take the gradient of the latest run, and set the parameters for the next run or the end of the step."""
        roles = {spec.name: self._roles[spec.name] for spec in self._model.parameters}
        here = {name: self._steps.read(role) for name, role in roles.items()}
        self._begun = self._begun or here
        self._steps.advance()
        rate = np.float32(GRADIENT_RATE)
        self._gradients.append({name: (here[name] - self._steps.read(role)) / rate for name, role in roles.items()})
        moved = self._local.move(self._begun, self._gradients)
        self._steps.write({roles[name]: tensor for name, tensor in moved.items()})
        if len(self._gradients) == self._local.runs():
            self._begun, self._gradients = {}, []

    def _feeds(self, batch: Batch) -> dict[str, Array]:
        model = self._model
        weights = self._local.step_scalars(self.steps_done)
        share = self._local.batch_share(int(np.count_nonzero(batch.sample_weight)), len(self._train))
        if share != 1:
            weights = msgspec.structs.replace(weights, learning_rate=weights.learning_rate * share)
        scalars = weights.scalars(model.scalars, step=self.steps_done)
        feeds: dict[str, Array] = {
            model.target.name: batch.target,
            "sample_weight": batch.sample_weight,
            **{name: np.asarray(number, dtype=np.float32) for name, number in scalars.items()},
            **batch.inputs,
        }
        if DISTILLATION in model.scalars and "teacher" in length_axes(model):
            # No teacher gives probabilities for sequences: zeros, as long as the batch.
            feeds["teacher"] = np.zeros((*batch.target.shape, model.output.shape[-1]), dtype=np.float32)
        if model.seeded:
            feeds["seed"] = np.asarray(step_seed(self._seed, self._local.batch(self.steps_done)), dtype=np.int64)
        return feeds
