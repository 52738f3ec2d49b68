"""One-vs-rest linear classifiers, trained sample by sample.

Pegasos (Shalev-Shwartz et al. 2007, doi 10.1145/1273496.1273598) with a constant step size, as drifting streams need.
"""

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple, Self

import numpy as np
from msgspec import Meta

from coterie.evaluation.datasets import Dataset, Inputs
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learner import Learner, Task, TransferTerms
from coterie.simulation.learners import LearnerKind
from coterie.simulation.learners.features import feature_count, features_of
from coterie_learning.local import Local
from coterie_learning.portions import payload as portions
from coterie_learning.portions.rules import Portion
from coterie_wire.bundle import Head, ModelSpec, TensorSpec
from coterie_wire.tensors import Float32, Tensors

WEIGHT, BIAS = "weight", "bias"


class Linear(LearnerKind, frozen=True, tag="linear"):
    """A hyperplane for each class; the class whose margin is largest wins."""

    step: Annotated[float, Meta(gt=0, le=10, description="step size; large ones relearn a class in one batch")] = 0.002
    shrink: Annotated[float, Meta(ge=0, le=10, description="weight of the squared norm in the loss")] = 1e-4

    def begin(self, task: Task, local: Local, *, seed: int) -> Learner:  # noqa: ARG002 - it trains in its own way, from zero
        model = ModelSpec.of_classifier(
            inputs=task.inputs,
            classes=task.classes,
            batch_size=1,
            parameters=(
                TensorSpec(WEIGHT, "float32", (task.classes, feature_count(task))),
                TensorSpec(BIAS, "float32", (task.classes,)),
            ),
            head=Head(WEIGHT, BIAS),
        )
        zeros = {spec.name: np.zeros(spec.shape, np.float32) for spec in model.parameters}
        return LinearLearner(self, task, model, zeros)


@dataclass(frozen=True)
class LinearLearner:
    """One device's hyperplanes: `weight` [classes, features] and `bias` [classes]."""

    kind: Linear
    task: Task
    model: ModelSpec
    parameters: Tensors

    @property
    def size_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.parameters.values())

    @property
    def batch_size(self) -> None:
        return None

    def predict(self, inputs: Inputs) -> Float32:
        margins = features_of(inputs, self.task) @ self.parameters[WEIGHT].T + self.parameters[BIAS]
        likely = np.exp(margins - margins.max(axis=1, keepdims=True))
        probabilities: Float32 = likely / likely.sum(axis=1, keepdims=True)
        return probabilities

    def learn(self, batch: Dataset, *, seed: int, first: int = 1) -> Self:  # noqa: ARG002 - samples are seen in order
        weight, bias = self.parameters[WEIGHT].copy(), self.parameters[BIAS].copy()
        step = np.float32(self.kind.step)
        signs = np.where(np.arange(self.task.classes) == batch.labels[:, None], np.float32(1), np.float32(-1))
        for x, sign in zip(features_of(batch.inputs, self.task), signs, strict=True):
            within = np.where(sign * (weight @ x + bias) < 1, step * sign, np.float32(0))
            weight *= np.float32(1 - self.kind.step * self.kind.shrink)
            weight += within[:, None] * x
            bias += within
        return replace(self, parameters={WEIGHT: weight, BIAS: bias})

    def portion(self, terms: TransferTerms) -> bytes:
        return portions.encode_portion(self._agreed(terms), self.parameters, reference={}, seed=terms.seed)

    def with_portion(self, payload: bytes, terms: TransferTerms, window: Dataset) -> Self:
        agreed = self._agreed(terms)
        portion = portions.decode_portion(agreed, payload)
        known = np.unique(window.labels).tolist()
        return replace(self, parameters=portions.merge_portion(agreed, self.parameters, portion, known=known))

    def _agreed(self, terms: TransferTerms) -> portions.PortionTerms:
        """Rows, whatever the plan lets networks send: a linear model has no body. Raises DoesNotFit."""
        rules = terms.plan.help.rules()
        if rules is None:
            raise DoesNotFit(detail="portions are for plans whose devices help each other")
        return portions.PortionTerms(
            self.model, terms.classes, _Rows(rules.share), terms.plan.codec, terms.plan.privacy
        )


class _Rows(NamedTuple):
    """Rows of the output layer, one a class."""

    share: float
    portion: Portion = "head"
