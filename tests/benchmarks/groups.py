"""How long it takes to ask a fleet's models about the cloud data, to compare them, and to divide them into groups.

The models have the size of the demo's device model and come as int8 updates, as in a merge by distillation. Memory is
what the process has grown by: one model is in it at a time, what all of them say lies in a mapped file.
"""

import math
import resource
import tempfile
import time
from hashlib import sha256
from pathlib import Path

import numpy as np

from coterie.child.run import run_child
from coterie.cloud import preflight_job
from coterie.cloud.averaging_job import StoredUpdate
from coterie.cloud.device_outputs import compute_outputs
from coterie.cloud.distill_merge_job import DistillMergeArguments, TrainedModel
from coterie.cloud.preflight_job import PreflightArguments, PreflightResult
from coterie.demo.digits import CLASSES, deal
from coterie.demo.export import JOB, ExportArguments
from coterie.evaluation.datasets import read_model_dataset
from coterie_learning.codec.int8 import Int8
from coterie_learning.grouping.distances import model_distances
from coterie_learning.groups.affinity import Affinity
from tests.benchmarks.report import Figure

MODELS = (100, 1000)
BEHAVIOURS = 3
LIMIT_S = 30.0
"""For the distances of 1,000 models, on two cores."""


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="coterie-bench-") as place:
        directory = Path(place)
        compiled = _compiled(directory)
        held_out = deal(devices=1, seed=0).held_out
        np.savez(directory / "data.npz", x=held_out.x, y=held_out.y)
        return [figure for count in MODELS for figure in _figures(directory, compiled, count)]


def _figures(directory: Path, compiled: PreflightResult, count: int) -> list[Figure]:
    arguments = _arguments(directory, compiled, count)
    dataset = read_model_dataset(Path(arguments.dataset), compiled.model)
    before = _resident_mb()
    started = time.perf_counter()
    outputs = compute_outputs(arguments, arguments.models, dataset, lambda _: None)
    asked = time.perf_counter()
    distances = model_distances(outputs.probabilities)
    compared = time.perf_counter()
    grouping = Affinity().split_by(distances)
    split = time.perf_counter()
    grown = _resident_mb() - before
    pure = all(label == grouping.labels[index % BEHAVIOURS] for index, label in enumerate(grouping.labels))
    parameters = sum(math.prod(spec.shape) for spec in compiled.model.parameters)
    case = f"{count} models of {parameters:,} parameters, {len(dataset.labels)} samples"
    target = f"target <= {LIMIT_S:g} s"
    return [
        Figure(case, "asking", asked - started, "s"),
        Figure(case, "distances", compared - asked, "s", target, LIMIT_S / (compared - asked)),
        Figure(case, "groups", split - compared, "s"),
        Figure(case, "all three", split - started, "s", target, LIMIT_S / (split - started)),
        Figure(case, "memory grown", grown, "MB"),
        Figure(case, f"groups found of {BEHAVIOURS}", len(grouping.exemplars), "pure" if pure else "mixed"),
    ]


def _compiled(directory: Path) -> PreflightResult:
    exported = run_child(JOB, ExportArguments(str(directory), seed=0))
    arguments = PreflightArguments(
        device=exported.device,
        batch_size=16,
        labels=tuple(str(digit) for digit in range(CLASSES)),
        train_step=str(directory / "train_step.onnx"),
        predict=str(directory / "predict.onnx"),
        frozen=str(directory / "frozen"),
        parameters=str(directory / "parameters"),
    )
    return run_child(preflight_job.JOB, arguments)


def _arguments(directory: Path, compiled: PreflightResult, count: int) -> DistillMergeArguments:
    place = directory / str(count)
    (place / "checkpoints").mkdir(parents=True)
    return DistillMergeArguments(
        model=compiled.model,
        train_step=str(directory / "train_step.onnx"),
        predict=str(directory / "predict.onnx"),
        frozen=None,
        cloud="",
        dataset=str(directory / "data.npz"),
        held_out=None,
        lineages=(),
        groups_named=0,
        models=tuple(_model(directory, place, compiled, number) for number in range(count)),
        local={"kind": "sgd"},
        codec={"kind": "int8"},
        merge={"kind": "distill"},
        groups={"kind": "affinity"},
        checkpoints=str(place / "checkpoints"),
        output=str(place),
        seed=0,
    )


def _model(directory: Path, place: Path, compiled: PreflightResult, number: int) -> TrainedModel:
    """One of `BEHAVIOURS`, with something of its own."""
    of_behaviour, own = (np.random.default_rng(seed) for seed in (number % BEHAVIOURS, BEHAVIOURS + number))
    update = {}
    for spec in compiled.model.parameters:
        noise = of_behaviour.standard_normal(spec.shape) + 0.1 * own.standard_normal(spec.shape)
        update[spec.name] = (0.2 * noise).astype(np.float32)
    payload = Int8().encode(update, seed=0).payload
    digest = sha256(payload).hexdigest()
    (place / digest).write_bytes(payload)
    return TrainedModel(StoredUpdate(str(place / digest), digest, 1), str(directory / "parameters"), "")


def _resident_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
