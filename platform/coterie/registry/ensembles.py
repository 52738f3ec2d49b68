"""What the boosted trees of a version are: how many have grown, how deep, and by which columns they split."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from coterie.registry.errors import VersionRemoved
from coterie.registry.models import ModelVersion, Role
from coterie.registry.verifying import open_blob
from coterie_learning.second_order import solved_models
from coterie_wire.tensors import Tensors, decode_tensors

UNSPLIT = 1e38
"""Nodes without a split have a threshold beyond this."""
_TREES = ("feature", "threshold", "value", "edges")
"""Parameters of an ensemble, as `coterie_learning.merge.boosted_trees` names them."""


@dataclass(frozen=True)
class Column:
    """One column of the samples."""

    number: int
    """Of the features, flattened; the first is 0."""
    splits: int
    """Nodes that split by it, over all trees."""
    first_levels: int
    """Of these, the nodes that are a tree's root."""


@dataclass(frozen=True)
class Ensemble:
    """A version's trees. Gains are not stored: they belong to the sums that made the version."""

    name: str
    """Of its parameters, without the last part; blank for a model that is nothing else."""
    trees: int
    """The number of trees that there is room for."""
    grown: int
    """The number of trees that have a split."""
    levels: int
    """The largest depth of a tree."""
    deepest: int
    """Levels of splits that the deepest tree has."""
    leaves: int
    """Leaves that samples can reach, over all trees that have grown."""
    columns: Sequence[Column]
    """Those by which something is split, the most used first."""


def ensembles_of(version: ModelVersion, *, now: datetime) -> Sequence[Ensemble]:
    """The trees of a device model; none where the model has no trees.

    Raises VersionRemoved or BlobDamaged.
    """
    if version.role != Role.DEVICE or version.pair.spec is None:
        return []
    spec = version.pair.model_spec()
    names = {tensor.name for tensor in spec.parameters}
    begins = [begin for begin in solved_models(names) if {f"{begin}{name}" for name in _TREES} <= names]
    if not begins:
        return []
    if version.parameters.removed_at is not None:
        raise VersionRemoved(version=str(version.pk))
    with open_blob(version.parameters_id, now=now) as file:
        tensors = decode_tensors(file.read(), expected=spec.version)
    found = {name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()}
    return [described(found, begin) for begin in begins]


def described(tensors: Tensors, begin: str) -> Ensemble:
    """The ensemble whose parameters' names begin with `begin`."""
    feature, threshold = (tensors[f"{begin}{name}"] for name in ("feature", "threshold"))
    is_split = threshold < UNSPLIT
    nodes = np.broadcast_to(np.arange(feature.shape[1]), feature.shape)
    level = np.floor(np.log2(nodes + 1)).astype(np.int64)
    used, splits = np.unique(feature[is_split].astype(np.int64), return_counts=True)
    roots = feature[:, 0][is_split[:, 0]].astype(np.int64)
    columns = [
        Column(number, count, int((roots == number).sum()))
        for number, count in zip(used.tolist(), splits.tolist(), strict=True)
    ]
    grown = int(is_split.any(axis=1).sum())
    return Ensemble(
        name=begin.removesuffix("."),
        trees=len(feature),
        grown=grown,
        levels=int(np.log2(feature.shape[1] + 1)),
        deepest=int(level[is_split].max(initial=-1)) + 1,
        leaves=int(is_split.sum()) + grown,
        columns=sorted(columns, key=lambda column: (-column.splits, column.number)),
    )
