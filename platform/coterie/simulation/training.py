"""How a virtual device trains: the epochs, weights, scope and early stopping of a plan's `local`, on real graphs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from coterie.learning.cloud.epochs import batches
from coterie.learning.datasets import Dataset
from coterie.learning.device_steps import Batch, DeviceSteps
from coterie.learning.evaluate import predict_logits, score
from coterie_wire.bundle import ModelSpec
from coterie_wire.codec import Float32, Tensors
from coterie_wire.heads import mask_unseen, output_layer, renormalise, take_over
from coterie_wire.local import Local, Stopping
from coterie_wire.stopping import Watched, judge_epoch

FEWEST_TO_SPLIT = 10
"""Of fewer samples none are held back, and all serve both ends."""


class Graphs(NamedTuple):
    """What all devices of one model share."""

    spec: ModelSpec
    steps: DeviceSteps
    predict: onnxruntime.InferenceSession
    train_step: bytes
    predict_graph: bytes

    @property
    def size_bytes(self) -> int:
        """Of both graphs, which a device downloads once."""
        return len(self.train_step) + len(self.predict_graph)


class Trained(NamedTuple):
    """What a device's training gives."""

    parameters: Tensors
    steps_done: int


def steps_wanted(samples: int, local: Local, graphs: Graphs) -> int:
    """Optimisation steps of a whole training, where nothing stops it early."""
    return local.epochs_wanted() * -(-samples // graphs.spec.batch_size)


def train(
    graphs: Graphs,
    start: Tensors,
    data: Dataset,
    local: Local,
    *,
    seen: Sequence[int],
    teacher: Float32 | None,
    seed: int,
    steps_allowed: int,
) -> Trained:
    """Train from `start` on `data`, at most `steps_allowed` steps; what the plan's scope leaves out stays as it is.

    `seen` are the classes that the device has had samples of, ascending; `teacher` [n, classes] are the cloud model's
    probabilities. Raises WireError ``plan.no_head``.
    """
    scope, stopping = local.scope(), local.stopping()
    if scope.head == "seen":
        start = mask_unseen(start, output_layer(graphs.spec), seen)
        teacher = None if teacher is None else renormalise(teacher, seen)
    generator = np.random.default_rng(seed)
    rows, held_back = _split(len(data.labels), stopping, generator)
    training, done = graphs.steps.begin(start), 0
    best, watched = start, Watched()
    for _ in range(local.epochs_wanted()):
        for chosen in batches(rows, size=graphs.spec.batch_size, generator=generator):
            if done == steps_allowed:
                break
            batch = Batch(data.take(chosen), None if teacher is None else teacher[chosen])
            training, _, _ = graphs.steps.step(training, batch, local.weights(done), anchors=start)
            done += 1
        if stopping is not None:
            loss = _loss(graphs, training.parameters, data.take(held_back))
            judged = judge_epoch(watched, loss, stopping)
            watched = judged.watched
            if judged.is_best:
                best = training.parameters
            if judged.stop:
                break
        if done == steps_allowed:
            break
    trained = training.parameters if stopping is None else best
    return Trained(take_over(start, trained, graphs.spec, scope, seen), done)


def _split(
    samples: int, stopping: Stopping | None, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    everything = np.arange(samples)
    if stopping is None or not stopping.validation_share or samples < FEWEST_TO_SPLIT:
        return everything, everything
    order = generator.permutation(samples)
    held = max(1, round(samples * stopping.validation_share))
    return np.sort(order[held:]), np.sort(order[:held])


def _loss(graphs: Graphs, parameters: Tensors, data: Dataset) -> float:
    return score(predict_logits(graphs.predict, parameters, data), data.labels).loss
