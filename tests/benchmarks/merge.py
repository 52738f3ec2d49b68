"""Merges: how quickly accepted updates are merged, and in how much memory."""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from coterie.child.memory import peak_memory_bytes
from coterie.cloud.averaging_job import MergeArguments, StoredBlob, StoredUpdate
from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.local.sgd import Sgd
from coterie_learning.update_files import Contents
from coterie_wire.bundle import BlobRef, ModelSpec, TensorSpec
from coterie_wire.tensor_files import open_source
from coterie_wire.tensors import encode_tensors
from tests.benchmarks.report import Figure


def model_of(layers: int, width: int) -> ModelSpec:
    """Of layers · width² parameters."""
    return ModelSpec.of_classifier(
        inputs=(TensorSpec("x", "float32", (width,)),),
        classes=10,
        batch_size=32,
        parameters=tuple(TensorSpec(f"layer{number}.weight", "float32", (width, width)) for number in range(layers)),
    )


class Case(NamedTuple):
    name: str
    model: ModelSpec
    codec: Codec
    distinct: int
    """Updates made; more are merged by listing the same files again."""
    counts: tuple[int, ...]
    before: Mapping[int, tuple[float, float]]
    """By number of updates: MB of updates a second, and peak memory in MB, of the merge that summed float64."""


CASES = (
    Case("1 MiB model, int8", model_of(4, 256), Int8(), 50, (100, 1000), {100: (281, 65), 1000: (447, 67)}),
    Case("100 MB model, int8", model_of(6, 2048), Int8(), 5, (10, 50), {10: (125, 771), 50: (355, 771)}),
    Case("100 MB model, float32", model_of(6, 2048), Float32Codec(), 5, (10, 50), {10: (369, 763), 50: (596, 763)}),
)


def measure() -> list[Figure]:
    return [figure for case in CASES for figure in _figures(case)]


class Merged(NamedTuple):
    seconds: float
    """Of the processor: one thread does it all, and what else the machine does should not count."""
    peak_mb: float


def _figures(case: Case) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        stored = _stored_updates(case, Path(directory))
        for count in case.counts:
            found = _in_fresh_process(case, Path(directory), [*stored * (count // case.distinct)])
            payload_mb = sum(Path(update.path).stat().st_size for update in stored) * (count // case.distinct) / 1e6
            speed, peak_mb = payload_mb / found.seconds, found.peak_mb
            name = f"{case.name}, {count} updates"
            old_speed, old_peak_mb = case.before[count]
            yield Figure(
                name,
                "throughput, bytes of updates",
                speed,
                "MB/s per core",
                against=f"sums in float64, {old_speed:.0f} MB/s",
                ratio=speed / old_speed,
            )
            yield Figure(
                name,
                "peak memory of the process",
                peak_mb,
                "MB",
                against=f"sums in float64, {old_peak_mb:.0f} MB",
                ratio=old_peak_mb / peak_mb,
            )


def _stored_updates(case: Case, directory: Path) -> list[StoredUpdate]:
    rng = np.random.default_rng(0)
    (directory / "base").write_bytes(encode_tensors(_noise(rng, 1.0, case.model)))
    stored = []
    for number in range(case.distinct):
        path = directory / f"update-{number}"
        path.write_bytes(case.codec.encode(_noise(rng, 0.01, case.model), seed=number).payload)
        with open_source(path) as file:
            norm = Contents(case.model, case.codec, Sgd()).open(file, ()).extent().norm
        stored.append(StoredUpdate(str(path), BlobRef.of_file(path).sha256, 100 + number, norm=norm))
    return stored


def _noise(rng: np.random.Generator, scale: float, model: ModelSpec) -> dict[str, np.ndarray]:
    return {spec.name: scale * rng.standard_normal(spec.shape, dtype=np.float32) for spec in model.parameters}


def _in_fresh_process(case: Case, directory: Path, updates: list[StoredUpdate]) -> Merged:
    base = directory / "base"
    arguments = MergeArguments(
        local={"kind": "sgd"},
        model=case.model,
        base=StoredBlob(str(base), BlobRef.of_file(base).sha256),
        merge={"kind": "fed_avg"},
        codec={"kind": case.codec.name},
        updates=tuple(updates),
        output=str(directory / "output"),
        state_output=str(directory / "state"),
    )
    os.environ["OMP_NUM_THREADS"] = "1"  # as the children of the platform have it
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_merge, (msgspec.json.encode(arguments),))


def _merge(encoded: bytes) -> Merged:
    from coterie.cloud.averaging import merge_stored

    arguments = msgspec.json.decode(encoded, type=MergeArguments)
    started = time.process_time()
    merge_stored(arguments, lambda _progress: None)
    seconds = time.process_time() - started
    return Merged(seconds, peak_memory_bytes() / (1 << 20))
