"""How exact a version is on the samples that devices hold out of their own, as they measure it in rounds."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import predict_logits
from coterie.simulation.fleet.setting import Setting, held_out_ids
from coterie.simulation.fleet.splits import Float64
from coterie_learning.metrics import measure
from coterie_wire.tensors import Tensors

MOST = 2_000
"""Devices that are measured, spread evenly over all that have samples: enough for a median and a worst tenth."""


class OnDevices(NamedTuple):
    """How exact what answers on each device is."""

    accuracies: Sequence[float]
    """Of each device that was measured, the share of its own samples held out that is right."""
    own: int
    """How many of them answer with a model of their own."""


def measure_on_devices(setting: Setting, parameters: Tensors, own_of: Callable[[int], Tensors | None]) -> OnDevices:
    """Of a version; `own_of` gives the model of a device's own that answers instead. At least one has samples."""
    population = setting.population
    having = np.flatnonzero(population.sizes)
    measured = having[np.linspace(0, len(having) - 1, min(MOST, len(having))).astype(np.int64)]
    each = [population.rows(device) for device in measured.tolist()]
    held_out = [rows[np.asarray(held_out_ids(len(rows), setting.plan.local)) - 1] for rows in each]
    rows, places = np.unique(np.concatenate(held_out), return_inverse=True)
    data = setting.data.take(rows)
    ends = np.cumsum([len(one) for one in held_out])
    by_version = np.split(_right(setting, parameters, data)[places], ends[:-1])
    accuracies, own = [], 0
    for device, tested, found in zip(measured.tolist(), held_out, by_version, strict=True):
        model = own_of(device)
        own += model is not None
        right = found if model is None else _right(setting, model, setting.data.take(tested))
        accuracies.append(float(right.mean()))
    return OnDevices(accuracies, own)


def _right(setting: Setting, parameters: Tensors, data: Dataset) -> Float64:
    output = predict_logits(setting.graphs.predict, parameters, data)
    right = measure(setting.graphs.spec.task, output, data.labels).right
    assert right is not None, "classes are right or wrong"
    return right
