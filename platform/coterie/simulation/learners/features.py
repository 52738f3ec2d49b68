"""Samples as one row of features each, for learners on flat features."""

import math

import numpy as np

from coterie.evaluation.datasets import Inputs
from coterie.simulation.learner import Task
from coterie_wire.tensors import Float32


def feature_count(task: Task) -> int:
    """Numbers in one sample."""
    return sum(math.prod(spec.shape) for spec in task.inputs)


def features_of(inputs: Inputs, task: Task) -> Float32:
    """All inputs of each sample side by side, in the task's order: [n, features]."""
    parts = [inputs[spec.name].reshape(len(inputs[spec.name]), -1) for spec in task.inputs]
    rows: Float32 = np.concatenate(parts, axis=1).astype(np.float32)
    return rows
