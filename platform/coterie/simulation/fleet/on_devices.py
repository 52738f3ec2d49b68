"""How exact a version is on the samples that devices hold out of their own, as they measure it in rounds."""

from collections.abc import Sequence

import numpy as np

from coterie.evaluation.scoring import predict_logits
from coterie.simulation.fleet.setting import Setting, held_out_ids
from coterie_learning.metrics import measure
from coterie_wire.tensors import Tensors

MOST = 2_000
"""Devices that are measured, spread evenly over all that have samples: enough for a median and a worst tenth."""


def accuracies_on_devices(setting: Setting, parameters: Tensors) -> Sequence[float]:
    """The share of its own samples held out that is right, of each device that is measured; one has samples."""
    population, spec = setting.population, setting.graphs.spec
    having = np.flatnonzero(population.sizes)
    measured = having[np.linspace(0, len(having) - 1, min(MOST, len(having))).astype(np.int64)]
    each = [population.rows(device) for device in measured.tolist()]
    held_out = [rows[np.asarray(held_out_ids(len(rows), setting.plan.local)) - 1] for rows in each]
    rows, places = np.unique(np.concatenate(held_out), return_inverse=True)
    data = setting.data.take(rows)
    right = measure(spec.task, predict_logits(setting.graphs.predict, parameters, data), data.labels).right
    assert right is not None, "classes are right or wrong"
    ends = np.cumsum([len(one) for one in held_out])
    return [float(one.mean()) for one in np.split(right[places], ends[:-1])]
