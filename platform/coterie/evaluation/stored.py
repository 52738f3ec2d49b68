"""The work of job `evaluate`: files in, figures out."""

from pathlib import Path

import numpy as np

from coterie.child.job import ReportProgress
from coterie.evaluation.datasets import read_model_dataset
from coterie.evaluation.job import EvaluateArguments, EvaluateResult
from coterie.evaluation.scoring import evaluate, read_frozen
from coterie_wire.tensors import decode_tensors


def evaluate_stored(arguments: EvaluateArguments, report: ReportProgress) -> EvaluateResult:  # noqa: ARG001 - seconds of work
    """Measure the parameters that the platform wrote itself. Raises MalformedDataset."""
    dataset = read_model_dataset(Path(arguments.dataset), arguments.model)
    tensors = decode_tensors(Path(arguments.parameters).read_bytes(), expected=arguments.model.version)
    parameters = {name: tensor.astype(np.float32, copy=False) for name, tensor in tensors.items()}
    frozen = read_frozen(arguments.frozen, arguments.model)
    found = evaluate(Path(arguments.predict).read_bytes(), parameters, dataset, arguments.model, frozen)
    return EvaluateResult(found.samples, found.accuracy, found.loss, found.class_accuracy, found.confusion)
