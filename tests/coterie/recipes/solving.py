"""Small models that a federation solves, and the same done centrally, by other means, with NumPy alone."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from coterie.compile.compiled import compile_model
from coterie.compile.program import export_module
from coterie.compile.recipe import parse_recipe
from coterie.evaluation.datasets import Dataset
from coterie.recipes.federation import Federation
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.on_device import Graphs
from coterie_learning.client.order import split
from coterie_learning.merge.boosted_trees import BoostedTrees as Merge
from coterie_learning.plan import Plan, parse_plan
from coterie_recipes.solved import BoostedTrees, SolvedLinear
from coterie_wire.tensors import Float32, Tensors

Float64 = NDArray[np.float64]
COLUMNS, BINS, TREES, LEVELS, BATCH = 3, 8, 3, 2, 16


def drawn(seed: int, count: int) -> Dataset:
    """Two classes by an interaction of two columns, which no line tells apart, and some noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (count, COLUMNS)).astype(np.float32)
    labels = ((x[:, 0] > 0.2) ^ (x[:, 1] > -0.1) ^ (rng.random(count) < 0.05)).astype(np.int64)
    return Dataset({"x": x}, labels)


def trained_on(data: Dataset) -> Dataset:
    """What a device that has `data` trains on."""
    rows = np.array(split(range(1, len(data.labels) + 1)).train) - 1
    return Dataset({"x": np.asarray(data.inputs["x"])[rows]}, data.labels[rows])


def plan_for(merge: Mapping[str, object], **slots: Mapping[str, object]) -> Plan:
    pace = {"kind": "sync", "target_updates": 50, "min_updates": 1}
    codec = {"kind": "float32"}
    return parse_plan({"local": {"kind": "second_order"}, "codec": codec, "pace": pace, "merge": merge, **slots})


def learner(model: nn.Module, plan: Plan, loss: str = "cross_entropy") -> NeuralLearner:
    graphs = _graphs(type(model), loss)
    first = {spec.name: model.state_dict()[spec.name].numpy() for spec in graphs.spec.parameters}
    return NeuralLearner(graphs, plan.local, parameters=first, first=first, received=first)


def trees() -> BoostedTrees:
    return BoostedTrees([(-3.0, 3.0)] * COLUMNS, outputs=2, trees=TREES, levels=LEVELS, bins=BINS)


def linear(outputs: int) -> SolvedLinear:
    return SolvedLinear(COLUMNS, outputs)


@cache
def _graphs(module: type[nn.Module], loss: str) -> Graphs:
    model = trees() if module is BoostedTrees else linear(1 if loss == "mean_squared_error" else 2)
    recipe = parse_recipe({"loss": {"kind": loss}, "optimiser": {"kind": "second_order"}})
    compiled = compile_model(export_module(model, (torch.zeros(2, COLUMNS),)), recipe, batch_size=BATCH)
    return Graphs.of(compiled.spec, train_step=compiled.train_step, predict=compiled.predict)


def versions(first: NeuralLearner, plan: Plan, data: Sequence[Dataset], *, rounds: int) -> Sequence[Tensors]:
    """Those of a federation of devices with `data`, round by round."""
    federation, found = Federation(first, plan, data, seed=0), []
    for number in range(1, rounds + 1):
        federation.hold_round(number)
        found.append(federation.parameters)
    return found


def after(first: NeuralLearner, plan: Plan, data: Sequence[Dataset], *, rounds: int) -> Tensors:
    """The newest version after so many rounds."""
    return versions(first, plan, data, rounds=rounds)[-1]


class CentralTrees:
    """Histogram boosting of all rows in one place: every split is tried on the rows themselves."""

    def __init__(self, merge: Merge, edges: Float32, base: Float32) -> None:
        self._merge, self._edges = merge, edges
        self.base = base.astype(np.float64)
        self.splits: list[tuple[int, int, int, float]] = []
        """Tree, place in the heap, column and threshold."""

    def fit(self, x: Float32, labels: NDArray[np.int64], *, count: int, levels: int) -> Float64:
        """The outputs for the rows themselves, [n, 2]."""
        outputs = np.tile(self.base, (len(x), 1))
        for tree in range(count):
            nodes = [np.ones(len(x), bool)]
            for level in range(levels):
                gradients, curvatures = _derivatives(outputs, labels)
                grown = []
                for node, rows in enumerate(nodes):
                    grown += self._part(tree, (1 << level) - 1 + node, rows, x, gradients, curvatures, outputs)
                nodes = grown
        return outputs

    def _part(
        self,
        tree: int,
        heap: int,
        rows: NDArray[np.bool_],
        x: Float32,
        gradients: Float64,
        curvatures: Float64,
        outputs: Float64,
    ) -> Sequence[NDArray[np.bool_]]:
        best, least = 0.0, self._merge.min_curvature * len(x)
        sides = [rows, np.zeros_like(rows)]
        for column in range(x.shape[1]):
            for edge in self._edges[column]:
                left, right = rows & (x[:, column] <= edge), rows & (x[:, column] > edge)
                if min(curvatures[left].sum(), curvatures[right].sum()) < max(least, 1e-12):
                    continue
                gain = sum(self._score(gradients[side], curvatures[side], len(x)) for side in (left, right))
                gain = (gain - self._score(gradients[rows], curvatures[rows], len(x))) / 2
                if gain > best * (1 + 1e-9):
                    best, sides, split_at = gain, [left, right], (tree, heap, column, float(edge))
        if best > 0:
            self.splits.append(split_at)
        for side in sides:
            found = gradients[side].sum(axis=0), curvatures[side].sum(axis=0) + self._merge.l2 * len(x)
            outputs[side] -= self._merge.learning_rate * found[0] / found[1]
        return sides

    def _score(self, gradients: Float64, curvatures: Float64, count: int) -> float:
        return float((gradients.sum(axis=0) ** 2 / (curvatures.sum(axis=0) + self._merge.l2 * count)).sum() / count)


def _derivatives(outputs: Float64, labels: NDArray[np.int64]) -> tuple[Float64, Float64]:
    odds = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    shares = odds / odds.sum(axis=1, keepdims=True)
    return shares - np.eye(outputs.shape[1])[labels], 2 * shares * (1 - shares)


def splits_of(version: Tensors) -> Sequence[tuple[int, int, int, float]]:
    """As `CentralTrees.splits` names them."""
    return [
        (tree, heap, int(version["feature"][tree, heap]), float(version["threshold"][tree, heap]))
        for tree, heap in np.argwhere(version["threshold"] < 1e38).tolist()
    ]
