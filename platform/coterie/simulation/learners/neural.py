"""A neural network: the ONNX graphs that devices run, opened once for all devices, which differ in parameters alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from coterie.evaluation.datasets import Dataset, Inputs
from coterie.evaluation.scoring import open_session, predict_logits
from coterie.evaluation.train_step import DeviceSteps
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learner import Task, Terms
from coterie.simulation.learners import LearnerKind
from coterie.simulation.learners.extras import NO_EXTRAS, Extra, Extras
from coterie.simulation.training import Graphs, parts_alone, steps_wanted, train
from coterie_learning.heads import begin_rows
from coterie_learning.help.cartel import Cartel
from coterie_learning.local import Local
from coterie_learning.local.distill import Distill
from coterie_learning.portions import payload as portions
from coterie_learning.portions.learner import opinion
from coterie_wire.tensors import Float32, Tensors, encode_tensors

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
        from coterie.simulation.bodies import compile_body  # only now: PyTorch takes seconds to import

        compiled = compile_body(task, body=self.body, hidden=self.hidden, batch_size=self.batch_size, seed=seed)
        graphs = Graphs(
            spec=compiled.spec,
            steps=DeviceSteps(compiled.train_step, compiled.spec),
            predict=open_session(compiled.predict),
            train_step=compiled.train_step,
            predict_graph=compiled.predict,
        )
        first = compiled.parameters
        return NeuralLearner(graphs, local, parameters=first, first=first, received=first)


@dataclass(frozen=True, eq=False)
class NeuralLearner:
    """One device's parameters."""

    graphs: Graphs
    local: Local
    parameters: Tensors
    first: Tensors
    """Those that all devices began with; whole models travel as their difference from them."""
    received: Tensors
    """Of the version that the device began with: where the output rows of new classes start."""
    extras: Extras = NO_EXTRAS
    seen: tuple[int, ...] = ()
    """Classes that the device has trained on, ascending."""

    @property
    def size_bytes(self) -> int:
        return len(encode_tensors(self.parameters))

    def predict(self, inputs: Inputs) -> Float32:
        return self.extras.predict(self._by(self.parameters, inputs), partial(self._by, inputs=inputs))

    def logits(self, inputs: Inputs) -> Float32:
        """[n, classes]."""
        return self._logits_by(self.parameters, inputs)

    def _logits_by(self, parameters: Tensors, inputs: Inputs) -> Float32:
        count = len(next(iter(inputs.values())))
        return predict_logits(self.graphs.predict, parameters, Dataset(inputs, np.zeros(count, np.int64)))

    def _by(self, parameters: Tensors, inputs: Inputs) -> Float32:
        logits = self._logits_by(parameters, inputs)
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities: Float32 = shifted / shifted.sum(axis=1, keepdims=True)
        return probabilities

    def learn(self, batch: Dataset, *, seed: int) -> "NeuralLearner":
        """All of the plan's epochs; velocities start at rest, as in every assignment."""
        by = partial(self._by, inputs=batch.inputs)
        extras = self.extras.weighed(by(self.parameters), by, batch.classes) if self.extras.learners else self.extras
        learner = self._trained(batch, self.local, teacher=None, seed=seed)
        return replace(learner, extras=extras)

    def _trained(self, batch: Dataset, local: Local, *, teacher: Float32 | None, seed: int) -> "NeuralLearner":
        seen = tuple(sorted({*self.seen, *batch.labels.tolist()}))
        parts = parts_alone(len(batch.labels), local)
        new = sorted(set(seen) - set(self.seen))
        trained = train(
            self.graphs,
            begin_rows(self.parameters, self.received, self.graphs.spec, local.scope(), new),
            batch,
            local,
            parts=parts,
            seen=seen,
            teacher=teacher,
            seed=seed,
            steps_allowed=steps_wanted(parts, local, self.graphs),
        )
        return replace(self, parameters=trained.parameters, seen=seen)

    def with_parameters(self, parameters: Tensors) -> "NeuralLearner":
        """The same graphs with other parameters."""
        return replace(self, parameters=parameters)

    def beginning_with(self, parameters: Tensors) -> "NeuralLearner":
        """A device that has received `parameters` and trained on nothing."""
        return replace(self, parameters=parameters, received=parameters, seen=())

    def portion(self, terms: Terms) -> bytes:
        return portions.encode_portion(self._agreed(terms), self.parameters, reference=self.first, seed=terms.seed)

    def with_portion(self, payload: bytes, terms: Terms, window: Dataset) -> "NeuralLearner":
        agreed = self._agreed(terms)
        if agreed.rules.portion != "learner":
            return self.with_rows(payload, terms, known=sorted({*self.seen, *window.labels.tolist()}))
        whole = portions.learner_parameters(portions.decode_portion(agreed, payload), self.first)
        return self._with_learner(Extra(whole, terms.classes), window, seed=terms.seed)

    def with_rows(self, payload: bytes, terms: Terms, *, known: Sequence[int]) -> "NeuralLearner":
        """With a portion that is no whole model; `known` are the classes that the device has samples of, ascending."""
        agreed = self._agreed(terms)
        portion = portions.decode_portion(agreed, payload)
        return self.with_parameters(portions.merge_portion(agreed, self.parameters, portion, known=known))

    def _with_learner(self, extra: Extra, window: Dataset, *, seed: int) -> "NeuralLearner":
        """Keep `extra` beside the own network or, where it would have too little weight, distil it into the own."""
        by = partial(self._by, inputs=window.inputs)
        own = by(self.parameters)
        extras = self.extras.with_learner(extra, own, by, window.classes)
        if extras is not None:
            return replace(self, extras=extras)
        teacher = opinion(own, by(extra.parameters), extra.classes)
        distil = Distill(epochs=DISTIL_EPOCHS, learning_rate=self.local.weights(0).learning_rate, head="all")
        return self._trained(window, distil, teacher=teacher, seed=seed)

    def _agreed(self, terms: Terms) -> portions.Terms:
        """Raises DoesNotFit."""
        cartel = terms.plan.help
        if not isinstance(cartel, Cartel):
            raise DoesNotFit(detail="portions are for plans with help cartel")
        return portions.Terms(self.graphs.spec, terms.classes, cartel, terms.plan.codec, terms.plan.privacy)
