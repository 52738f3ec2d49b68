"""Accuracy and loss of a device model on held-out samples, by the graph that devices run; no PyTorch."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from coterie.evaluation.confusion import Confusion, confusion_of
from coterie.evaluation.datasets import Dataset, Targets
from coterie_learning.metrics import log_softmax, measure
from coterie_wire.bundle import ModelSpec, Task
from coterie_wire.contract import LOSSES, TARGET
from coterie_wire.tensors import Array, Float32, Tensors, decode_tensors

BATCH = 256
Frozen = Mapping[str, Array]
"""The tensors that a recipe freezes, by the names of the graphs' inputs."""


NOTHING_FROZEN: Frozen = {}


class ModelOutputs(NamedTuple):
    """A model's output for samples."""

    output: Float32
    """[n, *output]."""
    own: Float32 | None = None
    """[n], the samples' losses by a loss of the model's own, where it has one."""


class Evaluation(NamedTuple):
    """A model on samples whose targets are known."""

    samples: int
    accuracy: float | None
    """Share of samples that are correct; None where the task has no correct class."""
    loss: float
    """Mean of the plain loss of the task, of a classifier cross-entropy in nats; or of the model's own."""
    class_accuracy: tuple[float | None, ...]
    """Of a classifier, accuracy for each class; None where a class has no samples."""
    confusion: Confusion | None = None
    """Of a classifier."""


def open_session(graph: bytes) -> onnxruntime.InferenceSession:
    """`graph` ready to run on one thread of the processor, as on a device."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def predict_logits(
    session: onnxruntime.InferenceSession, parameters: Tensors, dataset: Dataset, frozen: Frozen = NOTHING_FROZEN
) -> NDArray[np.float32]:
    """The model's output [n, ...] for the samples of `dataset`, with the tensors of a version and its frozen ones."""
    return run_model(session, parameters, dataset, frozen).output


def run_model(
    session: onnxruntime.InferenceSession, parameters: Tensors, dataset: Dataset, frozen: Frozen = NOTHING_FROZEN
) -> ModelOutputs:
    """`predict_logits`, with the losses of the samples where the model has a loss of its own."""
    wanted = {value.name for value in session.get_inputs()}
    roles = ((f"{role}.{name}", tensor) for role in ("param", "state") for name, tensor in parameters.items())
    weights = {**{name: tensor for name, tensor in roles if name in wanted}, **frozen}
    own = any(value.name == LOSSES for value in session.get_outputs())
    found = []
    for start in range(0, len(dataset.labels), BATCH):
        batch = dataset.take(slice(start, start + BATCH))
        found.append(session.run(None, {**batch.inputs, **({TARGET: batch.labels} if own else {}), **weights}))
    outputs, *losses = (np.concatenate(column) for column in zip(*found, strict=True))
    return ModelOutputs(outputs, losses[0] if losses else None)


def evaluate(
    predict: bytes, parameters: Tensors, dataset: Dataset, model: ModelSpec, frozen: Frozen = NOTHING_FROZEN
) -> Evaluation:
    """Run ``predict.onnx`` with the tensors of a version over the samples of `dataset`."""
    answer = run_model(open_session(predict), parameters, dataset, frozen)
    return score(answer.output, dataset.labels, task=model.task, padding=model.padding, own=answer.own)


def read_frozen(path: str | None, model: ModelSpec) -> Frozen:
    """The frozen tensors in a file that the platform wrote itself; none where there is no file."""
    return NOTHING_FROZEN if path is None else decode_tensors(Path(path).read_bytes(), expected=model.frozen)


def score(
    output: Float32, targets: Targets, *, task: Task = "classes", padding: int | None = None, own: Float32 | None = None
) -> Evaluation:
    """Accuracy and loss of a model's `output` [n, ...] against `targets` [n, ...]; `own` as `ModelOutputs` has it."""
    found = measure(task, output, targets, padding=padding, own=own)
    return Evaluation(
        samples=len(targets),
        accuracy=None if found.right is None else float(found.right.mean()),
        loss=float(found.losses.mean()),
        class_accuracy=_by_class(found.right, targets, output.shape[1]) if task == "classes" else (),
        confusion=confusion_of(output, targets.astype(np.int64)) if task == "classes" else None,
    )


def score_taught(
    output: Float32,
    targets: Targets,
    taught: Float32,
    *,
    label_weight: float,
    task: Task = "classes",
    padding: int | None = None,
    own: Float32 | None = None,
) -> Evaluation:
    """`score`, but the loss is label_weight·loss(targets) + (1 - label_weight)·loss(taught), `taught` [n, ...]."""
    found = score(output, targets, task=task, padding=padding, own=own)
    match task:
        case "classes":
            said = -(taught * log_softmax(output)).sum(axis=1)
        case "tokens":
            present = targets != padding
            surprise = -(taught * log_softmax(output)).sum(axis=2)
            said = np.where(present, surprise, 0).sum(axis=1) / np.maximum(present.sum(axis=1), 1)
        case _:
            said = measure(task, output, taught).losses
    return found._replace(loss=label_weight * found.loss + (1 - label_weight) * float(said.mean()))


def _by_class(right: NDArray[np.float64] | None, labels: Targets, classes: int) -> tuple[float | None, ...]:
    assert right is not None, "classes are right or wrong"
    parts = (right[labels == label] for label in range(classes))
    return tuple(float(part.mean()) if len(part) else None for part in parts)
