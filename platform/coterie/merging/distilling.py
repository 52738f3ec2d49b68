"""Merges by distillation (Colla, stage 4): the arguments of the job, and its result."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec

from coterie.child.job import Limits, ReportProgress
from coterie.child.run import run_child
from coterie.cloud import distill_merge_job
from coterie.cloud.averaging_job import StoredUpdate
from coterie.cloud.distill_merge_job import (
    DistillMergeArguments,
    DistillMergeResult,
    Lineage,
    NewLineage,
    TrainedModel,
)
from coterie.federations.models import Federation
from coterie.federations.selectors import current_groups
from coterie.merging import reasons
from coterie.merging.candidates import Candidate, FoundSplit, MergeOutcome
from coterie.merging.checkpoints import checkpoints_of
from coterie.merging.figures import by_class, update_figures
from coterie.merging.files import updates_of
from coterie.merging.judging import ROUNDING
from coterie.merging.models import Merge, Update
from coterie.registry.models import BASE, Blob, Metric, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.registry.services import store_file
from coterie.registry.verifying import sound_path
from coterie_wire.structs import from_values

LIMITS = Limits(wall_s=24 * 3600, cpu_s=7 * 24 * 3600, memory_bytes=8 << 30, file_bytes=64 << 30, confined=True)
Distiller = Callable[[DistillMergeArguments, threading.Event, ReportProgress], DistillMergeResult]


class LineageVersions(NamedTuple):
    """The versions of one lineage that a merge begins with."""

    cloud: ModelVersion
    device: ModelVersion


class StoredLineage(NamedTuple):
    """The parameters of one lineage that the job has made, in the registry."""

    cloud: Blob
    device: Blob


def distil_in_a_child(
    arguments: DistillMergeArguments, cancel: threading.Event, report: ReportProgress
) -> DistillMergeResult:
    """The job needs PyTorch, which this process never loads."""
    return run_child(distill_merge_job.JOB, arguments, limits=LIMITS, on_progress=report, cancel=cancel)


def distil(
    merge: Merge,
    directory: Path,
    cancel: threading.Event,
    report: ReportProgress,
    *,
    now: datetime,
    distiller: Distiller,
) -> MergeOutcome:
    """Run the job, or resume it, and store its files. Raises what the job raises."""
    before = _lineages(merge)
    updates = list(merge.updates.select_related("base_version"))
    arguments = _arguments(merge, before, updates, directory, now)
    result = distiller(arguments, cancel, report)
    stored = {
        lineage.name: StoredLineage(
            cloud=store_file(path=Path(arguments.output, f"{lineage.name or 'base'}.cloud"), now=now),
            device=store_file(path=Path(arguments.output, f"{lineage.name or 'base'}.device"), now=now),
        )
        for lineage in result.lineages
    }
    base, groups = result.lineages[0], result.lineages[1:]
    of_groups = (_candidates_of_group(lineage, before, stored[lineage.name]) for lineage in groups)
    return MergeOutcome(
        base=_placed(_candidates(base, before[BASE], stored[BASE], by_class(base.device_after)), merge.federation),
        groups=_placed(chain.from_iterable(of_groups), merge.federation),
        figures={**update_figures(merge), **_figures(base)},
        judged={update.pk: judged for update, judged in zip(updates, result.judged, strict=True)},
        split=_split(merge, updates, result),
    )


def _placed(candidates: Iterable[Candidate], federation: Federation) -> tuple[Candidate, ...]:
    """The candidates with the federation's lineages, where the job uses the names of groups."""
    return tuple(replace(one, lineage=federation.lineage(one.lineage)) for one in candidates)


def _candidates(
    lineage: NewLineage, before: LineageVersions, stored: StoredLineage, figures: Mapping[str, Metric]
) -> tuple[Candidate, Candidate]:
    """Of the lineage's cloud model, then of its device model, whose metrics are given."""
    cloud: dict[str, Metric] = {
        "models": lineage.models,
        "epochs": lineage.cloud_epochs,
        **by_class(lineage.cloud_after),
    }
    if lineage.cloud_after is not None:
        cloud |= {"accuracy": lineage.cloud_after.accuracy, "loss": lineage.cloud_after.loss}
    return (
        Candidate(before.cloud, lineage.name, stored.cloud, lineage.cloud_before, lineage.cloud_after, cloud),
        Candidate(before.device, lineage.name, stored.device, lineage.device_before, lineage.device_after, figures),
    )


def _candidates_of_group(
    lineage: NewLineage, before: Mapping[str, LineageVersions], stored: StoredLineage
) -> tuple[Candidate, ...]:
    """The group's candidates if they fit its members as well as its former models do; else the former models stay.

    Held-out data of all behaviours do not measure one behaviour's model: it is compared with its members' outputs. A
    new group had the base's models, and keeps those as versions of its own.
    """
    is_new = lineage.name not in before
    had = before[BASE] if is_new else before[lineage.name]
    fits = lineage.cross_entropy_gap_after <= lineage.cross_entropy_gap_before + ROUNDING
    if not fits and not is_new:
        return ()
    gap = lineage.cross_entropy_gap_after if fits else lineage.cross_entropy_gap_before
    figures: dict[str, Metric] = {
        "models": lineage.models,
        "cross_entropy_gap_before": lineage.cross_entropy_gap_before,
        "cross_entropy_gap": gap,
    }
    if fits:
        return _candidates(lineage, had, stored, {**figures, **by_class(lineage.device_after)})
    as_before = msgspec.structs.replace(lineage, cloud_after=lineage.cloud_before, device_after=lineage.device_before)
    unchanged = StoredLineage(had.cloud.parameters, had.device.parameters)
    return _candidates(as_before, had, unchanged, {**figures, **by_class(lineage.device_before)})


def _split(merge: Merge, updates: Sequence[Update], result: DistillMergeResult) -> FoundSplit | None:
    if not merge.parsed_plan().groups.divides:
        return None
    return FoundSplit(
        lineages={update.device_id: judged.lineage for update, judged in zip(updates, result.judged, strict=True)},
        silhouettes=result.silhouettes,
        distances=result.distances,
        reason=reasons.split(result.reason),
    )


def _lineages(merge: Merge) -> Mapping[str, LineageVersions]:
    """The versions in use now, of the base and of every group."""
    federation, pair_id = merge.federation, merge.federation.pair_id
    names = [BASE, *current_groups(merge.federation).values_list("name", flat=True)]
    found: dict[str, LineageVersions] = {}
    for name in names:
        lineage = federation.lineage(name)
        cloud, device = champion(pair_id, Role.CLOUD, lineage), champion(pair_id, Role.DEVICE, lineage)
        assert cloud is not None and device is not None, "a round opens and a group begins with both"
        found[name] = LineageVersions(cloud, device)
    return found


def _arguments(
    merge: Merge, before: Mapping[str, LineageVersions], updates: Sequence[Update], directory: Path, now: datetime
) -> DistillMergeArguments:
    federation = merge.federation
    pair = federation.pair
    assert pair.train_step_id is not None and pair.predict_id is not None and federation.cloud_data is not None
    plan = from_values(merge.plan, dict[str, dict[str, object]])

    def blob(sha256: str) -> str:
        return str(sound_path(sha256, directory, now=now))

    output = directory / "output"
    output.mkdir()
    return DistillMergeArguments(
        model=pair.model_spec(),
        train_step=blob(pair.train_step_id),
        predict=blob(pair.predict_id),
        cloud=blob(pair.cloud_program_id),
        dataset=blob(federation.cloud_data.blob_id),
        held_out=None if federation.held_out is None else blob(federation.held_out.blob_id),
        frozen=None if pair.frozen_id is None else blob(pair.frozen_id),
        lineages=tuple(
            Lineage(name, blob(lineage.cloud.parameters_id), blob(lineage.device.parameters_id))
            for name, lineage in before.items()
        ),
        groups_named=federation.groups.count(),
        models=tuple(
            TrainedModel(
                update=StoredUpdate(
                    path=str(updates_of(update.cohort).local_path(update.sha256, directory)),
                    sha256=update.sha256,
                    samples=update.samples,
                    classes=tuple(update.classes),
                ),
                base=blob(update.base_version.parameters_id),
                lineage=federation.group_of(update.base_version.lineage),
            )
            for update in updates
        ),
        local=plan["local"],
        codec=plan["codec"],
        merge=plan["merge"],
        groups=plan["groups"],
        checkpoints=str(
            checkpoints_of(merge.pk, begun_with=[str(v.pk) for lineage in before.values() for v in lineage])
        ),
        output=str(output),
        seed=merge.seed,
    )


def _figures(base: NewLineage) -> dict[str, float]:
    figures: dict[str, float] = {
        "kept": base.models,
        "cloud_epochs": base.cloud_epochs,
        "device_epochs": base.device_epochs,
    }
    for name, quality in (
        ("cloud_accuracy_before", base.cloud_before),
        ("cloud_accuracy", base.cloud_after),
        ("accuracy_before", base.device_before),
        ("accuracy", base.device_after),
    ):
        if quality is not None:
            figures[name] = quality.accuracy
    if base.device_after is not None:
        figures["loss"] = base.device_after.loss
    return figures
