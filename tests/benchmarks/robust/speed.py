"""How quickly robust merges merge a thousand stored updates, and in how much memory, in a confined child."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from coterie.child.job import ChildJob, Limits, ReportProgress
from coterie.child.memory import peak_memory_bytes
from coterie.child.run import run_child
from coterie.cloud.averaging_job import MergeArguments, StoredBlob, StoredUpdate
from coterie_learning.codec.int8 import Int8
from coterie_wire.bundle import BlobRef
from coterie_wire.tensors import encode_tensors
from tests.benchmarks.merge import model_of
from tests.benchmarks.report import Figure

MODEL = model_of(layers=38, width=256)
"""2.5 million parameters: 10 MB as float32."""
MODEL_MB = 38 * 256 * 256 * 4 / 1e6
UPDATES, DISTINCT = 1000, 20
"""Updates that are merged, and those made: the same files are listed again."""
MERGES = ("fed_avg", "median", "trimmed_mean", "krum")
MOST_MB = 64 + 2 * MODEL_MB
PATIENT = Limits(wall_s=7200, cpu_s=3600, confined=True)


class Measured(msgspec.Struct, frozen=True):
    """One merge."""

    cpu_s: float
    before_mb: float
    """What the process held before it began."""
    peak_mb: float


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        arguments = stored(Path(directory))
        return [figure for merge in MERGES for figure in figures(merge, arguments)]


def figures(merge: str, arguments: MergeArguments) -> Sequence[Figure]:
    """Of one kind: how many bytes of updates a second, and memory beyond that of the process."""
    found = run_child(JOB, msgspec.structs.replace(arguments, merge={"kind": merge}), limits=PATIENT)
    updates_mb = sum(Path(update.path).stat().st_size for update in arguments.updates) / 1e6
    case = f"{merge}, {UPDATES} int8 updates of a {MODEL_MB:.0f} MB model"
    used = found.peak_mb - found.before_mb
    return [
        Figure(case, "throughput, bytes of updates", updates_mb / found.cpu_s, "MB/s per core"),
        Figure(case, "processor", found.cpu_s, "s"),
        Figure(case, "memory", used, "MB", against=f"target <= {MOST_MB:.0f} MB", ratio=MOST_MB / used),
        Figure(case, "memory with that of the process itself", found.peak_mb, "MB"),
    ]


def stored(directory: Path) -> MergeArguments:
    """The arguments of a merge, whose kind is to be said."""
    rng = np.random.default_rng(0)
    base = directory / "base"
    base.write_bytes(encode_tensors(_noise(rng, 1.0)))
    updates = []
    for number in range(DISTINCT):
        path = directory / f"update-{number}"
        path.write_bytes(Int8().encode(_noise(rng, 0.01), seed=number).payload)
        updates.append(StoredUpdate(str(path), BlobRef.of_file(path).sha256, 100 + number))
    return MergeArguments(
        local={"kind": "sgd"},
        model=MODEL,
        base=StoredBlob(str(base), BlobRef.of_file(base).sha256),
        merge={"kind": "fed_avg"},
        codec={"kind": "int8"},
        updates=tuple(updates * (UPDATES // DISTINCT)),
        output=str(directory / "output"),
        state_output=str(directory / "state"),
    )


def merge_measured(arguments: MergeArguments, report: ReportProgress) -> Measured:
    """The work of production, watched."""
    from coterie.cloud.averaging import merge_stored  # in the child alone

    before, started = peak_memory_bytes(), time.process_time()
    merge_stored(arguments, report)
    return Measured(time.process_time() - started, before / 1e6, peak_memory_bytes() / 1e6)


def _noise(rng: np.random.Generator, scale: float) -> dict[str, np.ndarray]:
    return {spec.name: scale * rng.standard_normal(spec.shape, dtype=np.float32) for spec in MODEL.parameters}


JOB = ChildJob(
    module=__name__,
    work=f"{__name__}:merge_measured",
    arguments=MergeArguments,
    result=Measured,
)
