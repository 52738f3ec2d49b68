"""Merges by averaging: the arguments of the job, and its result."""

import math
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from coterie.child.job import Limits, Progress
from coterie.child.run import run_child
from coterie.cloud import averaging_job
from coterie.cloud.averaging import merge_stored
from coterie.cloud.averaging_job import HeldOut, MergeArguments, MergeResult, StoredBlob, StoredUpdate
from coterie.merging.candidates import Candidate, Outcome
from coterie.merging.figures import by_class, update_figures
from coterie.merging.files import updates_of
from coterie.merging.models import Merge
from coterie.registry.content import BLOBS
from coterie.registry.services import keep_file
from coterie_wire.conditions import Reason
from coterie_wire.structs import from_values

Merger = Callable[[MergeArguments, threading.Event], MergeResult]
SMALL_BYTES = 16 << 20


def average(merge: Merge, directory: Path, cancel: threading.Event, *, now: datetime, merger: Merger) -> Outcome:
    """Do the job and keep its file. Raises what the job raises."""
    arguments = _arguments(merge, directory)
    result = merger(arguments, cancel)
    remembers = result.server_state is not None
    candidate = Candidate(
        parent=merge.base_version,
        lineage=merge.base_version.lineage,
        parameters=keep_file(path=Path(arguments.output), now=now),
        server_state=keep_file(path=Path(arguments.state_output), now=now) if remembers else None,
        before=result.base,
        after=result.candidate,
        metrics=by_class(result.candidate),
    )
    found = {fault.sha256: Reason(fault.code, fault.detail) for fault in result.left_out}
    faults = {update.pk: found[update.sha256] for update in merge.updates.filter(sha256__in=found).only("pk", "sha256")}
    figures = {**update_figures(merge, faults), **_quality(result)}
    return Outcome(base=(candidate,), groups=(), figures=figures, faults=faults)


def merge_where_it_pays(arguments: MergeArguments, cancel: threading.Event) -> MergeResult:
    """Merge here if that is small work, else in a process of its own, which spares the server its memory.

    A process takes 0.2 s to start, and 0.6 s on a busy machine; eight updates of the demo's model take 5 ms to merge.
    """
    if _work_bytes(arguments) <= SMALL_BYTES:
        return merge_stored(arguments, _pass_over)
    return run_child(averaging_job.JOB, arguments, limits=Limits(network=False), cancel=cancel)


def _work_bytes(arguments: MergeArguments) -> int:
    """Bytes of all updates as float32, and of the samples to measure with, as they lie in their file."""
    parameters = sum(math.prod(tensor.shape) for tensor in arguments.model.parameters)
    samples = Path(arguments.held_out.dataset).stat().st_size if arguments.held_out is not None else 0
    return 4 * parameters * len(arguments.updates) + samples


def _pass_over(_progress: Progress) -> None:
    """Reports no progress: the work takes milliseconds."""


def _quality(result: MergeResult) -> dict[str, float]:
    if result.base is None or result.candidate is None:
        return {}
    figures = {"loss": result.candidate.loss}
    if result.base.accuracy is not None and result.candidate.accuracy is not None:
        figures |= {"accuracy_before": result.base.accuracy, "accuracy": result.candidate.accuracy}
    return figures


def _arguments(merge: Merge, directory: Path) -> MergeArguments:
    base = merge.base_version
    pair = base.pair
    assert pair.predict_id is not None
    held_out = merge.federation.held_out
    plan = from_values(merge.plan, dict[str, dict[str, object]])
    return MergeArguments(
        model=pair.model_spec(),
        base=StoredBlob(str(BLOBS.local_path(base.parameters_id, directory)), base.parameters_id),
        local=plan["local"],
        merge=plan["merge"],
        codec=plan["codec"],
        updates=tuple(
            StoredUpdate(
                str(updates_of(update.cohort).local_path(update.sha256, directory)),
                update.sha256,
                update.samples,
                tuple(update.classes),
            )
            for update in merge.updates.all()
        ),
        output=str(directory / "parameters"),
        state_output=str(directory / "server-state"),
        server_state=None
        if base.server_state_id is None
        else StoredBlob(str(BLOBS.local_path(base.server_state_id, directory)), base.server_state_id),
        held_out=None
        if held_out is None
        else HeldOut(
            predict=str(BLOBS.local_path(pair.predict_id, directory)),
            dataset=str(BLOBS.local_path(held_out.blob_id, directory)),
            frozen=None if pair.frozen_id is None else str(BLOBS.local_path(pair.frozen_id, directory)),
        ),
    )
