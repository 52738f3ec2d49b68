"""Computes an update from the platform's own samples as a device would, for merges that compare updates with it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import numpy as np

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import NOTHING_FROZEN, Frozen
from coterie.evaluation.train_step import Batch, DeviceSteps
from coterie_learning.client.order import steps_per_epoch
from coterie_learning.device_plan import CODEC
from coterie_learning.local import Local
from coterie_learning.random import permutation
from coterie_learning.update_files import Contents, UpdateFile
from coterie_learning.updates import join_update
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import running_statistics
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Tensors


def root_update(
    local: Local,
    model: ModelSpec,
    train_step: bytes,
    samples: Dataset,
    begun: Tensors,
    *,
    seed: int,
    frozen: Frozen = NOTHING_FROZEN,
) -> Callable[[], AbstractContextManager[UpdateFile]]:
    """Opens the update that `local` computes from `samples` and the version `begun`.

    The same arguments give the same bits. Raises WireError ``plan.does_not_fit`` or ``update.not_finite``.
    """
    steps, size, count = DeviceSteps(train_step, model, frozen, seed=seed), model.batch_size, len(samples.labels)
    epoch = steps_per_epoch(count, size)
    training, order = steps.begin(begun), np.empty(0, np.int64)
    anchors = {spec.name: begun[spec.name] for spec in model.parameters}
    for step in range(local.steps_wanted(epoch)):
        place = step % epoch
        if not place:
            order = permutation(count, seed, "root", step // epoch)
        rows = order[place * size : (place + 1) * size]
        training = steps.step(training, Batch(samples.take(rows)), local.step_scalars(step), anchors).training
    difference = {spec.name: training.parameters[spec.name] - begun[spec.name] for spec in model.parameters}
    statistics = {spec.name: training.parameters[spec.name] for spec in running_statistics(model)}
    codec = CODEC.parse({"kind": "float32"})
    payload = join_update(statistics, codec.encode(difference, seed=0).payload)
    return partial(_opened, Contents(model, codec, local).open(InMemory(payload), ()))


@contextmanager
def _opened(update: UpdateFile) -> Iterator[UpdateFile]:
    yield update
