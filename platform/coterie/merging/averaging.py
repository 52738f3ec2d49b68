"""Merges by averaging: the arguments of the job, and its result."""

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from django.utils.crypto import salted_hmac

from coterie.child.job import Limits, Progress
from coterie.child.run import run_child
from coterie.cloud import averaging_job
from coterie.cloud.averaging import merge_stored
from coterie.cloud.averaging_job import (
    HeldOut,
    MergeArguments,
    MergeResult,
    NoUpdateLeft,
    RelayedUpdate,
    Root,
    StoredBlob,
    StoredPartial,
    StoredUpdate,
)
from coterie.merging.candidates import Candidate, MergeOutcome
from coterie.merging.figures import by_class, update_figures
from coterie.merging.files import updates_of
from coterie.merging.models import Merge, Partial, Update
from coterie.merging.secure import masked_sum, summed_figures
from coterie.privacy.reasons import device_out_of_budget, device_resting
from coterie.privacy.selectors import largest_spent, limit_of
from coterie.privacy.services import spend
from coterie.privacy.streams import index_of, resting, secret_of, stream_of, sums_before
from coterie.registry.models import NEXT_BOUND, ORDINARY_NORM, Metric, ModelVersion, VersionDifference
from coterie.registry.services import EncodedDifference, store_file
from coterie.registry.verifying import sound_path
from coterie_learning.merge import Cohort
from coterie_wire.conditions import Reason
from coterie_wire.structs import from_values

Merger = Callable[[MergeArguments, threading.Event], MergeResult]
SMALL_BYTES = 16 << 20
DIFFERENCE, RESIDUAL = "difference", "residual"
"""Files of the job."""


class Beginning(NamedTuple):
    """The model and state from which a merge begins."""

    parameters: str
    """SHA-256 of a blob, as are the others."""
    server_state: str | None
    residual: str | None
    """The encoding error of the parameters against the merged result, where versions travel as differences."""
    figures: Mapping[str, Metric]
    """Figures of the version, as `carried_figures` returns them."""

    @classmethod
    def of_version(cls, version: ModelVersion) -> "Beginning":
        """A version, with the state stored beside it."""
        difference = VersionDifference.objects.filter(version=version).first()
        residual = None if difference is None else difference.residual_id
        return cls(version.parameters_id, version.server_state_id, residual, version.metrics)


def average(merge: Merge, directory: Path, cancel: threading.Event, *, now: datetime, merger: Merger) -> MergeOutcome:
    """Run the job and store its file. Raises what the job raises."""
    pace = merge.parsed_plan().pace
    updates = list(merge.updates.select_related("partial"))
    stale = {update.pk: _too_stale(update) for update in updates if not pace.discount(update.staleness)}
    near = _too_recent(merge, updates)
    unpaid = _unpaid(merge, [update for update in updates if update.pk not in stale | near], now)
    absent = stale | near | unpaid
    counted = [update for update in updates if update.pk not in absent]
    arguments = arguments_of(merge, counted, Beginning.of_version(merge.base_version), directory, now=now)
    if not arguments.updates and not arguments.partials and arguments.masked is None:
        raise NoUpdateLeft(updates=len(updates), first=next(iter(absent.values())).sentence)
    result = merger(arguments, cancel)
    remembers = result.server_state is not None
    candidate = Candidate(
        parent=merge.base_version,
        lineage=merge.base_version.lineage,
        parameters=store_file(path=Path(arguments.output), now=now),
        server_state=store_file(path=Path(arguments.state_output), now=now) if remembers else None,
        difference=_difference(merge, result, directory, now),
        before=result.base,
        after=result.candidate,
        metrics={**by_class(result.candidate), **carried_figures(result)},
    )
    found = {fault.sha256: Reason(fault.code, fault.detail) for fault in result.left_out}
    faults = absent | {update.pk: found[update.sha256] for update in updates if update.sha256 in found}
    seen = {one.sha256: one for one in result.compared}
    compared = {update.pk: seen[update.sha256] for update in updates if update.sha256 in seen}
    left_out = {*faults, *(update for update, one in compared.items() if one.weight == 0)}
    summed = result.sum_figures
    of_devices = update_figures(merge, left_out) if summed is None else summed_figures(merge, summed)
    figures = {**of_devices, **quality_figures(result), **_spent(merge), **_difference_bytes(result)}
    return MergeOutcome(
        base=(candidate,), groups=(), figures=figures, compared=compared, faults=faults, summed=result.summed
    )


def merge_here_or_in_child(arguments: MergeArguments, cancel: threading.Event) -> MergeResult:
    """Merge in this process if the work is small, else in a child process, which frees its memory afterwards.

    A process takes 0.2 s to start, and 0.6 s on a busy machine; eight updates of the demo's model take 5 ms to merge.
    """
    if _work_bytes(arguments) <= SMALL_BYTES:
        return merge_stored(arguments, _ignore_progress)
    return run_child(averaging_job.JOB, arguments, limits=Limits(confined=True), cancel=cancel)


def _work_bytes(arguments: MergeArguments) -> int:
    """Bytes of all updates or masks as float32, and of the evaluation samples as stored in their file."""
    parameters = sum(math.prod(tensor.shape) for tensor in arguments.model.parameters)
    samples = Path(arguments.held_out.dataset).stat().st_size if arguments.held_out is not None else 0
    masked = arguments.masked
    vectors = len(arguments.updates) if masked is None else len(masked.vectors) + len(masked.masks)
    return 4 * parameters * vectors + samples


def _ignore_progress(_progress: Progress) -> None:
    """Reports no progress: the work takes milliseconds."""


def _too_recent(merge: Merge, updates: Sequence[Update]) -> dict[UUID, Reason]:
    """By update, why its device may not take part in this release: it took part in another one too recently."""
    stream = stream_of(merge.parsed_plan())
    if stream is None:
        return {}
    index = index_of(merge.federation, stream, release=merge.release)
    near = resting([update.device_id for update in updates], merge.federation, stream, index=index)
    return {update.pk: device_resting() for update in updates if update.device_id in near}


def _unpaid(merge: Merge, updates: Sequence[Update], now: datetime) -> dict[UUID, Reason]:
    """Charge the devices of `updates` for the release of their sum; returns, by update, why a budget does not cover it.

    This is committed before the sum is formed. A merge that is killed and repeated is charged once, and one that is
    abandoned is charged too: the fate of its candidate reveals something about the sum.
    """
    privacy = merge.parsed_plan().privacy
    cost = privacy.spend(Cohort(len(updates), max(merge.fleet or 0, len(updates))))
    if privacy.releases != "sums" or cost is None:
        return {}
    devices = [update.device_id for update in updates]
    paid = spend(release=merge.release, federation=merge.federation, spent=cost, devices=devices, now=now)
    return {update.pk: device_out_of_budget() for update in updates if update.device_id not in paid}


def _spent(merge: Merge) -> dict[str, float]:
    """The privacy loss of any device through all versions so far, this one included, where the plan bounds it."""
    if merge.parsed_plan().privacy.releases == "nothing":
        return {}
    return {"epsilon": largest_spent(merge.federation), "delta": limit_of(merge.federation).delta}


def _noise_secret(merge: Merge) -> bytes:
    """The same in every attempt of the merge: two draws of noise on one sum would partly cancel out."""
    stream = stream_of(merge.parsed_plan())
    if stream is not None:
        return secret_of(merge.federation, stream)
    return salted_hmac("coterie.merging.noise", str(merge.pk), algorithm="sha256").digest()


def _previous_releases(merge: Merge) -> tuple[str, ...]:
    """The digests of the previous releases, where the plan's releases are a stream."""
    stream = stream_of(merge.parsed_plan())
    if stream is None:
        return ()
    index = index_of(merge.federation, stream, release=merge.release)
    return tuple(sums_before(merge.federation, stream, index=index))


def carried_figures(result: MergeResult) -> dict[str, float]:
    """Figures stored beside the version: rounds that begin with it use them, also after a rollback."""
    bound = {} if result.next_bound is None else {NEXT_BOUND: result.next_bound}
    return bound | ({ORDINARY_NORM: result.ordinary_norm} if result.ordinary_norm else {})


def ordinary_norm_of(figures: Mapping[str, Metric]) -> float:
    """The typical update norm before a version, by its figures; 0: unknown."""
    found = figures.get(ORDINARY_NORM, 0.0)
    assert isinstance(found, (int, float)), "a norm is a number"
    return float(found)


def _difference(merge: Merge, result: MergeResult, directory: Path, now: datetime) -> EncodedDifference | None:
    codec = merge.parsed_plan().down.codec()
    if codec is None or result.difference is None:
        return None
    residual = None if result.residual is None else store_file(path=directory / RESIDUAL, now=now)
    return EncodedDifference(store_file(path=directory / DIFFERENCE, now=now), codec.name, residual)


def _difference_bytes(result: MergeResult) -> dict[str, float]:
    """Bytes that a device downloads which holds the previous version."""
    return {} if result.difference is None else {"difference_bytes": result.difference.size_bytes}


def quality_figures(result: MergeResult) -> dict[str, float]:
    """Measurements of both models, where held-out data was given."""
    if result.base is None or result.candidate is None:
        return {}
    figures = {"loss": result.candidate.loss}
    if result.base.accuracy is not None and result.candidate.accuracy is not None:
        figures |= {"accuracy_before": result.base.accuracy, "accuracy": result.candidate.accuracy}
    return figures


def _root(merge: Merge, blob: Callable[[str], str]) -> Root | None:
    """The data from which the platform computes its own update, where updates are compared with it."""
    pair, data = merge.federation.pair, merge.federation.cloud_data
    if data is None or not merge.parsed_plan().merge.compares_with_root:
        return None
    assert pair.train_step_id is not None, "a pair with versions has its graphs"
    frozen = None if pair.frozen_id is None else blob(pair.frozen_id)
    return Root(train_step=blob(pair.train_step_id), dataset=blob(data.blob_id), frozen=frozen)


def _too_stale(update: Update) -> Reason:
    return Reason("update.too_stale", f"{update.staleness} versions or more have been published since its base")


def _partials(updates: Sequence[Update], directory: Path) -> tuple[StoredPartial, ...]:
    """The partial sums that contain some of `updates`."""
    found: dict[Partial, list[RelayedUpdate]] = {}
    for update in updates:
        if update.partial is not None:
            weight, norm = update.partial.weights[str(update.pk)], update.norm or 0.0
            relayed = RelayedUpdate(update.sha256, update.samples, norm, weight)
            found.setdefault(update.partial, []).append(relayed)
    return tuple(
        StoredPartial(
            str(updates_of(partial.cohort).local_path(partial.sha256, directory)),
            partial.sha256,
            str(partial.pk),
            tuple(relayed),
        )
        for partial, relayed in found.items()
    )


def arguments_of(
    merge: Merge, updates: Sequence[Update], beginning: Beginning, directory: Path, *, now: datetime
) -> MergeArguments:
    """The arguments of the job: `updates` of the merge, and where it begins; its files are placed in `directory`."""

    def blob(sha256: str) -> str:
        return str(sound_path(sha256, directory, now=now))

    def stored(sha256: str | None) -> StoredBlob | None:
        return None if sha256 is None else StoredBlob(blob(sha256), sha256)

    pair, pace = merge.base_version.pair, merge.parsed_plan().pace
    assert pair.predict_id is not None
    held_out = merge.federation.held_out
    plan = from_values(merge.plan, dict[str, dict[str, object]])
    return MergeArguments(
        model=pair.model_spec(),
        base=StoredBlob(blob(beginning.parameters), beginning.parameters),
        local=plan["local"],
        merge=plan["merge"],
        codec=plan["codec"],
        privacy=plan["privacy"],
        noise_secret=_noise_secret(merge),
        noise_earlier=_previous_releases(merge),
        updates=tuple(
            StoredUpdate(
                str(updates_of(update.cohort).local_path(update.sha256, directory)),
                update.sha256,
                update.samples,
                tuple(update.classes),
                discount=pace.discount(update.staleness),
                norm=update.norm,
            )
            for update in updates
            if update.partial_id is None
        ),
        masked=None if merge.secure_sum is None else masked_sum(merge.secure_sum, directory),
        partials=_partials(updates, directory),
        fleet=merge.fleet or 0,
        ordinary_norm=ordinary_norm_of(beginning.figures),
        output=str(directory / "parameters"),
        state_output=str(directory / "server-state"),
        server_state=stored(beginning.server_state),
        root=_root(merge, blob),
        down=plan.get("down", {"kind": "whole"}),
        residual=stored(beginning.residual),
        difference_output=str(directory / DIFFERENCE),
        residual_output=str(directory / RESIDUAL),
        held_out=None
        if held_out is None
        else HeldOut(
            predict=blob(pair.predict_id),
            dataset=blob(held_out.blob_id),
            frozen=None if pair.frozen_id is None else blob(pair.frozen_id),
        ),
    )
