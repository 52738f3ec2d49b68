"""How good a device model is on held-out samples, by the graph that devices run; NumPy and onnxruntime only."""

from typing import NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from coterie.learning.datasets import Dataset
from coterie_wire.codec import Tensors

BATCH = 256


class Evaluation(NamedTuple):
    """A model on labelled samples."""

    samples: int
    accuracy: float
    """Share of samples whose most probable class is the label."""
    loss: float
    """Mean cross-entropy in nats."""
    class_accuracy: tuple[float | None, ...]
    """Accuracy over the samples of each class; None where there are none."""


def open_session(graph: bytes) -> onnxruntime.InferenceSession:
    """`graph` ready to run on one thread of the processor, as on a device."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def predict_logits(session: onnxruntime.InferenceSession, parameters: Tensors, dataset: Dataset) -> NDArray[np.float32]:
    """Logits [n, classes] for the samples of `dataset`."""
    weights = {f"param.{name}": tensor for name, tensor in parameters.items()}
    # A graph lists only those parameters that prediction needs.
    wanted = {value.name for value in session.get_inputs()}
    weights = {name: tensor for name, tensor in weights.items() if name in wanted}
    starts = range(0, len(dataset.labels), BATCH)
    batches = (dataset.take(slice(start, start + BATCH)) for start in starts)
    logits = [session.run(["logits"], {**batch.inputs, **weights})[0] for batch in batches]
    joined: NDArray[np.float32] = np.concatenate(logits)
    return joined


def evaluate(predict: bytes, parameters: Tensors, dataset: Dataset) -> Evaluation:
    """Run ``predict.onnx`` with `parameters` over the labelled samples of `dataset`."""
    return score(predict_logits(open_session(predict), parameters, dataset), dataset.labels)


def score(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> Evaluation:
    """Accuracy and loss of `logits` [n, classes] against `labels` [n]."""
    hits = logits.argmax(axis=1) == labels
    log_probabilities = log_softmax(logits)
    loss = -log_probabilities[np.arange(len(labels)), labels].mean()
    by_class = (hits[labels == label] for label in range(logits.shape[1]))
    return Evaluation(
        samples=len(labels),
        accuracy=float(hits.mean()),
        loss=float(loss),
        class_accuracy=tuple(float(part.mean()) if len(part) else None for part in by_class),
    )


def score_taught(
    logits: NDArray[np.float32], labels: NDArray[np.int64], taught: NDArray[np.float32], *, label_weight: float
) -> Evaluation:
    """`score`, but the loss is label_weight·CE(labels) + (1 - label_weight)·CE(taught), `taught` [n, classes]."""
    found = score(logits, labels)
    said = float(-(taught * log_softmax(logits)).sum(axis=1).mean())
    return found._replace(loss=label_weight * found.loss + (1 - label_weight) * said)


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Logarithms of the probabilities [n, classes]."""
    wide = logits.astype(np.float64)
    shifted = wide - wide.max(axis=1, keepdims=True)
    found: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return found
