"""A neural network: the ONNX graphs that devices run, opened once for all devices, which differ only in parameters."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from coterie.evaluation.datasets import Dataset, Inputs
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learner import Task, TransferTerms
from coterie.simulation.learners import LearnerKind
from coterie.simulation.learners.compiled_once import compiled_once
from coterie.simulation.learners.extras import NO_EXTRAS, Extra, Extras
from coterie.simulation.on_device import Graphs, Rows, Taught, run_training
from coterie_learning.client.optimisation import Diverged
from coterie_learning.client.round import local_training
from coterie_learning.device_plan import LOCAL
from coterie_learning.local import Local
from coterie_learning.portions import payload as portions
from coterie_learning.portions.learner import opinion
from coterie_wire.tensors import Float32, Tensors, encode_tensors

if TYPE_CHECKING:
    from coterie.compile.compiled import CompiledModel

DISTIL_EPOCHS = 20
"""Passes over the newest batches in which an extra learner that is not kept is distilled, at most."""


class Neural(LearnerKind, frozen=True, tag="neural"):
    """A network with one hidden layer before its classes; it trains as the plan's `local` says."""

    body: Annotated[
        Literal["mlp", "cnn"], Meta(description="what stands before the hidden layer: nothing, or a convolution")
    ] = "mlp"
    hidden: Annotated[int, Meta(ge=1, le=4096, description="width of the hidden layer")] = 32
    batch_size: Annotated[int, Meta(ge=1, le=4096, description="samples in an optimisation step")] = 25

    def begin(self, task: Task, local: Local, *, seed: int) -> "NeuralLearner":
        told = msgspec.json.encode(("body", task.inputs, task.classes, self, seed))
        compiled = compiled_once(told, partial(self._compile, task, seed))
        graphs = Graphs.of(compiled.spec, train_step=compiled.train_step, predict=compiled.predict)
        first = compiled.parameters
        return NeuralLearner(graphs, local, parameters=first, first=first, received=first)

    def _compile(self, task: Task, seed: int) -> "CompiledModel":
        from coterie.simulation.bodies import compile_body  # only now: PyTorch takes seconds to import

        return compile_body(task, body=self.body, hidden=self.hidden, batch_size=self.batch_size, seed=seed)


@dataclass(frozen=True, eq=False)
class NeuralLearner:
    """One device's parameters."""

    graphs: Graphs
    local: Local
    parameters: Tensors
    first: Tensors
    """The parameters that all devices started with; whole models are sent as differences from them."""
    received: Tensors
    """Parameters of the version that the device started from: output rows of new classes start there."""
    extras: Extras = NO_EXTRAS
    seen: tuple[int, ...] = ()
    """Classes that the device has trained on, ascending."""

    @property
    def size_bytes(self) -> int:
        return len(encode_tensors(self.parameters))

    @property
    def batch_size(self) -> int | None:
        return None if _stops_early(self.local) else self.graphs.spec.batch_size

    def predict(self, inputs: Inputs) -> Float32:
        return self.extras.predict(self._by(self.parameters, inputs), partial(self._by, inputs=inputs))

    def logits(self, inputs: Inputs) -> Float32:
        """[n, classes]."""
        return self._logits_by(self.parameters, inputs)

    def _logits_by(self, parameters: Tensors, inputs: Inputs) -> Float32:
        count = len(next(iter(inputs.values())))
        return self.graphs.outputs(parameters, Dataset(inputs, np.zeros(count, np.int64)))

    def _by(self, parameters: Tensors, inputs: Inputs) -> Float32:
        logits = self._logits_by(parameters, inputs)
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities: Float32 = shifted / shifted.sum(axis=1, keepdims=True)
        return probabilities

    def learn(self, batch: Dataset, *, seed: int, first: int = 1) -> "NeuralLearner":
        """All of the plan's epochs; the optimiser's state begins as zeros, as in every assignment."""
        by = partial(self._by, inputs=batch.inputs)
        extras = self.extras.weighed(by(self.parameters), by, batch.classes) if self.extras.learners else self.extras
        learner = self._trained(batch, self.local, teacher=None, seed=seed, first=first)
        return replace(learner, extras=extras)

    def _trained(
        self, batch: Dataset, local: Local, *, teacher: Float32 | None, seed: int, first: int = 1
    ) -> "NeuralLearner":
        seen = tuple(sorted({*self.seen, *batch.labels.tolist()}))
        numbers = range(first, first + len(batch.labels))
        training = local_training(
            local,
            self.graphs.spec,
            self.graphs.open_steps,
            personal=self.parameters,
            received=self.received,
            ids=numbers,
            seen=seen,
            seed=seed,
            stops_early=_stops_early(local),
        )
        rows = Rows(batch, self.graphs.spec, numbers)
        taught = None if teacher is None else Taught(teacher, numbers)
        try:
            parameters = run_training(training, self.graphs, rows, teacher=taught)
        except Diverged:
            return replace(self, seen=seen)  # the batch is left out
        return replace(self, parameters=parameters, seen=seen)

    def with_parameters(self, parameters: Tensors) -> "NeuralLearner":
        """The same graphs with other parameters."""
        return replace(self, parameters=parameters)

    def with_seen(self, parameters: Tensors, seen: tuple[int, ...]) -> "NeuralLearner":
        """The same after others have trained it to `parameters`, on samples of the classes `seen`."""
        return replace(self, parameters=parameters, seen=seen)

    def beginning_with(self, parameters: Tensors) -> "NeuralLearner":
        """A device that has received `parameters` and trained on nothing."""
        return replace(self, parameters=parameters, received=parameters, seen=())

    def portion(self, terms: TransferTerms) -> bytes:
        return portions.encode_portion(self._agreed(terms), self.parameters, reference=self.first, seed=terms.seed)

    def with_portion(self, payload: bytes, terms: TransferTerms, window: Dataset) -> "NeuralLearner":
        agreed = self._agreed(terms)
        if agreed.rules.portion != "learner":
            known, portion = sorted({*self.seen, *window.labels.tolist()}), portions.decode_portion(agreed, payload)
            return self.with_parameters(portions.merge_portion(agreed, self.parameters, portion, known=known))
        whole = portions.learner_parameters(portions.decode_portion(agreed, payload), self.first)
        return self._with_learner(Extra(whole, terms.classes), window, seed=terms.seed)

    def _with_learner(self, extra: Extra, window: Dataset, *, seed: int) -> "NeuralLearner":
        """Keep `extra` beside the own network or, where it would have too little weight, distil it into the own."""
        by = partial(self._by, inputs=window.inputs)
        own = by(self.parameters)
        extras = self.extras.with_learner(extra, own, by, window.classes)
        if extras is not None:
            return replace(self, extras=extras)
        teacher = opinion(own, by(extra.parameters), extra.classes)
        rate = self.local.step_scalars(0).learning_rate
        distil = LOCAL.parse({"kind": "distill", "epochs": DISTIL_EPOCHS, "learning_rate": rate, "head": "all"})
        return self._trained(window, distil, teacher=teacher, seed=seed)

    def _agreed(self, terms: TransferTerms) -> portions.PortionTerms:
        """Raises DoesNotFit."""
        rules = terms.plan.help.rules()
        if rules is None:
            raise DoesNotFit(detail="portions are for plans whose devices help each other")
        return portions.PortionTerms(self.graphs.spec, terms.classes, rules, terms.plan.codec, terms.plan.privacy)


def _stops_early(local: Local) -> bool:
    """Whether `local` is for whole periods of samples, as in plans without rounds, and not for one batch."""
    return local.stopping() is not None and local.epochs_wanted() > 1
