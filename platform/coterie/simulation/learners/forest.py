"""An online random forest: each batch regrows the worst tree on the newest batches.

As in Cartel's evaluation (Daga et al. 2019, doi 10.1145/3357223.3362708).
"""

from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
from msgspec import Meta

from coterie.evaluation.datasets import Dataset, Inputs
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learner import Learner, Task, TransferTerms
from coterie.simulation.learners import LearnerKind
from coterie.simulation.learners.features import feature_count, features_of
from coterie.simulation.learners.grow import grow_tree
from coterie_learning.device_plan import CODEC
from coterie_learning.local import Local
from coterie_learning.portions.trees import Tree, best_trees, decode_trees, encode_trees, replace_worst, vote_trees
from coterie_wire.tensors import Float32


class Forest(LearnerKind, frozen=True, tag="forest"):
    """Trees with one vote each."""

    trees: Annotated[int, Meta(ge=1, le=1000, description="trees that vote")] = 20
    depth: Annotated[int, Meta(ge=1, le=30, description="splits in a row")] = 10
    window: Annotated[int, Meta(ge=1, le=1000, description="newest batches that a tree is grown on")] = 10

    def begin(self, task: Task, local: Local, *, seed: int) -> Learner:  # noqa: ARG002 - it trains in its own way, from nothing
        return ForestLearner(self, task, (), ())


@dataclass(frozen=True)
class ForestLearner:
    """One device's trees, and the batches that the next is grown on."""

    kind: Forest
    task: Task
    trees: tuple[Tree, ...]
    newest: tuple[Dataset, ...]

    @property
    def size_bytes(self) -> int:
        return len(encode_trees(self.trees, CODEC.parse({"kind": "float32"}), seed=0)) if self.trees else 0

    @property
    def batch_size(self) -> None:
        return None

    def predict(self, inputs: Inputs) -> Float32:
        x = features_of(inputs, self.task)
        classes = np.arange(self.task.classes)
        if not self.trees:
            return np.full((len(x), len(classes)), 1 / len(classes), np.float32)
        probabilities: Float32 = (vote_trees(self.trees, x)[:, :, None] == classes).mean(axis=0, dtype=np.float32)
        return probabilities

    def learn(self, batch: Dataset, *, seed: int, first: int = 1) -> Self:  # noqa: ARG002 - it holds nothing out
        newest = (*self.newest, batch)[-self.kind.window :]
        learner = replace(self, newest=newest)
        x, labels = learner._samples()
        tree = grow_tree(x, labels, depth=self.kind.depth, rng=np.random.default_rng(seed))
        if len(self.trees) < self.kind.trees:
            return replace(learner, trees=(*self.trees, tree))
        trees = replace_worst(self.trees, (tree,), features_of(batch.inputs, self.task), batch.classes)
        return replace(learner, trees=trees)

    def portion(self, terms: TransferTerms) -> bytes:
        x, labels = self._samples()
        trees = best_trees(self.trees, x, labels, terms.classes, self._count(terms))
        return encode_trees(trees, terms.plan.codec, seed=terms.seed)

    def with_portion(self, payload: bytes, terms: TransferTerms, window: Dataset) -> Self:
        features, classes = feature_count(self.task), self.task.classes
        trees = decode_trees(payload, terms.plan.codec, most=self._count(terms), features=features, classes=classes)
        return replace(
            self, trees=replace_worst(self.trees, trees, features_of(window.inputs, self.task), window.classes)
        )

    def _samples(self) -> tuple[Float32, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """Of the newest batches: features [n, features] and labels [n]."""
        x = np.concatenate([features_of(batch.inputs, self.task) for batch in self.newest])
        return x, np.concatenate([batch.labels for batch in self.newest])

    def _count(self, terms: TransferTerms) -> int:
        """Most trees in a portion. Raises DoesNotFit."""
        rules = terms.plan.help.rules()
        if rules is None or not terms.plan.privacy.leaves_as_is:
            raise DoesNotFit(detail="a forest gives portions where the plan has help, and privacy cannot change trees")
        return max(1, round(rules.share * self.kind.trees))
