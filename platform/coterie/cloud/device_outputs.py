"""Outputs of devices' models on the cloud data: one model in memory at a time, outputs in a durable file."""

import hashlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import onnxruntime
from numpy.typing import NDArray

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.averaging import read_parameters, read_update
from coterie.cloud.checkpoints import read_file, replace_file
from coterie.cloud.distill_merge_job import DistillMergeArguments, TrainedModel
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import Frozen, open_session, predict_logits, read_frozen
from coterie_learning.device_plan import CODEC, LOCAL
from coterie_learning.grouping.distances import ModelOutputs
from coterie_learning.heads import mask_unseen, output_layer
from coterie_learning.metrics import log_softmax
from coterie_learning.update_files import Contents
from coterie_wire.structs import from_json
from coterie_wire.tensors import Float32, Tensors

FLUSHED_EVERY = 16
"""Models between two flushes; outputs computed since the last one are computed again after a kill."""


class Outputs(NamedTuple):
    """Of all models, in canonical order."""

    probabilities: ModelOutputs
    """Mapped from a file of float16; zero for a model whose outputs are not finite."""
    accuracies: tuple[float, ...]
    """NaN for a model with outputs that are not finite."""


class _Done(msgspec.Struct, frozen=True):
    """A file beside the outputs that states how much of them is written."""

    accuracies: tuple[float | None, ...] = ()
    digests: tuple[str, ...] = ()
    """SHA-256 of each model's outputs."""


def compute_outputs(
    arguments: DistillMergeArguments, models: Sequence[TrainedModel], dataset: Dataset, report: ReportProgress
) -> Outputs:
    """Run every model over the cloud data, or resume after an interruption. Raises UpdateChanged."""
    path, mark = Path(arguments.checkpoints, "outputs"), Path(arguments.checkpoints, "outputs.json")
    shape = (len(models), len(dataset.labels), arguments.model.classes)
    found = read_file(mark)
    done = _Done() if found is None else from_json(found, _Done)
    file = np.memmap(path, np.float16, mode="w+" if found is None else "r+", shape=shape)
    digests = list(_sound(done.digests, file))
    accuracies = [math.nan if accuracy is None else accuracy for accuracy in done.accuracies[: len(digests)]]
    session = open_session(Path(arguments.predict).read_bytes())
    frozen = read_frozen(arguments.frozen, arguments.model)
    contents = Contents(arguments.model, CODEC.parse(arguments.codec), LOCAL.parse(arguments.local))
    for index in range(len(accuracies), len(models)):
        parameters = rebuild(models[index], contents)
        probabilities = _probabilities(session, parameters, dataset, frozen)
        sound = bool(np.isfinite(probabilities).all())
        file[index] = probabilities if sound else 0
        digests.append(_digest(file[index]))
        accuracies.append(float((probabilities.argmax(axis=1) == dataset.labels).mean()) if sound else math.nan)
        if (index + 1) % FLUSHED_EVERY == 0 or index + 1 == len(models):
            file.flush()
            reported = tuple(None if math.isnan(accuracy) else accuracy for accuracy in accuracies)
            replace_file(mark, msgspec.json.encode(_Done(reported, tuple(digests))))
            report(Progress("asking the devices' models", index + 1, len(models)))
    return Outputs(file, tuple(accuracies))


def _sound(digests: Sequence[str], outputs: ModelOutputs) -> Iterator[str]:
    """The digests of an interrupted attempt, up to the first whose outputs were damaged on disk."""
    for index, digest in enumerate(digests):
        if _digest(outputs[index]) != digest:
            return
        yield digest


def _digest(outputs: NDArray[np.float16]) -> str:
    return hashlib.sha256(outputs.tobytes()).hexdigest()


def rebuild(trained: TrainedModel, contents: Contents) -> Tensors:
    """The device's parameters; a class that its output layer lacks has probability zero. Raises UpdateChanged."""
    update, model = trained.update, contents.model
    found = read_update(update, contents)
    base = read_parameters(Path(trained.base), model)
    with np.errstate(over="ignore"):  # the outputs are checked for infinities
        learned = {spec.name: base[spec.name] + found.difference[spec.name] for spec in model.parameters}
    parameters = {**learned, **found.statistics}
    if contents.local.scope().head == "all":
        return parameters
    return mask_unseen(parameters, output_layer(model), update.classes)


def _probabilities(
    session: onnxruntime.InferenceSession, parameters: Tensors, dataset: Dataset, frozen: Frozen
) -> Float32:
    with np.errstate(all="ignore"):
        found: Float32 = np.exp(log_softmax(predict_logits(session, parameters, dataset, frozen))).astype(np.float32)
    return found
