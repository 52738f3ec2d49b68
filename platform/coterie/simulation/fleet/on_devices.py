"""Accuracy of a version on samples held out on devices, as devices measure it in rounds."""

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
"""Number of devices measured, spread evenly over all with samples: enough for a median and a worst decile."""


class OnDevices(NamedTuple):
    """Accuracy of the models used on devices."""

    accuracies: Sequence[float]
    """Accuracy of each measured device on its held-out samples."""
    own: int
    """How many of them use a personal model."""


def measure_on_devices(setting: Setting, parameters: Tensors, own_of: Callable[[int], Tensors | None]) -> OnDevices:
    """Measure a version; `own_of` gives a device's personal model, used instead. At least one device has samples."""
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
