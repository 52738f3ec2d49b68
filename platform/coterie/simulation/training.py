"""How a virtual device trains: the epochs, weights, scope and early stopping of a plan's `local`, on real graphs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import onnxruntime

from coterie.cloud.epochs import batches
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import predict_logits, score
from coterie.evaluation.train_step import Batch, DeviceSteps
from coterie_agent.training.batches import Split, split, steps_per_epoch
from coterie_learning.heads import mask_unseen, output_layer, renormalise, take_over
from coterie_learning.local import Local
from coterie_learning.stopping import Watched, judge_epoch
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Float32, Tensors


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


def parts_in_round(samples: int, local: Local) -> Split:
    """The rows that an agent trains on in a round, and those that it holds back to measure or to stop by."""
    stopping = local.stopping()
    return split(range(samples)) if stopping is None else split(range(samples), share=stopping.validation_share)


def parts_alone(samples: int, local: Local) -> Split:
    """The rows outside of rounds, where an agent holds nothing back unless to stop by."""
    return Split(range(samples), ()) if local.stopping() is None else parts_in_round(samples, local)


def steps_wanted(parts: Split, local: Local, graphs: Graphs) -> int:
    """Optimisation steps of a whole training, where nothing stops it early."""
    return local.epochs_wanted() * steps_per_epoch(len(parts.train), graphs.spec.batch_size)


def train(
    graphs: Graphs,
    start: Tensors,
    data: Dataset,
    local: Local,
    *,
    parts: Split,
    seen: Sequence[int],
    teacher: Float32 | None,
    seed: int,
    steps_allowed: int,
) -> Trained:
    """Train from `start` on `parts` of `data`, at most `steps_allowed` steps; what is not in the plan's scope stays.

    `seen` are the classes that the device has had samples of, ascending; `teacher` [n, classes] are the cloud model's
    probabilities. Raises WireError ``plan.no_head``.
    """
    scope, stopping = local.scope(), local.stopping()
    if scope.head == "seen":
        start = mask_unseen(start, output_layer(graphs.spec), seen)
        teacher = None if teacher is None else renormalise(teacher, seen)
    generator = np.random.default_rng(seed)
    rows, held_back = np.asarray(parts.train, np.int64), np.asarray(parts.held_out, np.int64)
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


def _loss(graphs: Graphs, parameters: Tensors, data: Dataset) -> float:
    return score(predict_logits(graphs.predict, parameters, data), data.labels).loss
