"""A model's output for one sample as a prediction, for programs and people."""

from collections.abc import Sequence

import numpy as np

from coterie_learning.metrics import log_softmax
from coterie_wire.bundle import Task
from coterie_wire.predictions import Output, Prediction
from coterie_wire.tensors import Float32


def prediction_of(output: Float32, *, task: Task, labels: Sequence[str]) -> Prediction | Output:
    """The prediction in `output` [*output] of one sample; `labels` are the names of the classes."""
    match task:
        case "classes":
            probabilities = np.exp(log_softmax(output))
            index = int(probabilities.argmax())
            label = labels[index] if index < len(labels) else str(index)
            return Prediction(label, index, round(float(probabilities[index]), 6))
        case "labels":
            return Output((1 / (1 + np.exp(-output.astype(np.float64)))).round(6).tolist())
        case "tokens":
            return Output(output.argmax(axis=-1).tolist())
        case "values":
            return Output(output.reshape(-1).tolist())
