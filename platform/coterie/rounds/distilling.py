"""A round's merge by distillation (Colla, stage 4): what the job is given, and what becomes of its candidates."""

import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from django.db import transaction

from coterie.child.job import Limits, ReportProgress
from coterie.child.run import run_child
from coterie.cloud import distill_merge_job
from coterie.cloud.averaging_job import StoredUpdate
from coterie.cloud.distill_merge_job import (
    DistillMergeArguments,
    DistillMergeResult,
    Line,
    NewLine,
    TrainedModel,
)
from coterie.federations.grouping import record_split
from coterie.federations.models import Federation
from coterie.federations.selectors import current_groups
from coterie.registry.content import BLOBS
from coterie.registry.models import BASE, Blob, Metric, ModelPair, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.registry.services import keep_file, publish_version
from coterie.rounds import reasons
from coterie.rounds.checkpoints import checkpoints_of, forget_checkpoints
from coterie.rounds.ending import abandon, publish
from coterie.rounds.figures import ROUNDING, by_class, update_figures
from coterie.rounds.files import updates_of
from coterie.rounds.models import Round, Update
from coterie_learning.groups.one import One
from coterie_wire.conditions import Reason
from coterie_wire.structs import from_values

LIMITS = Limits(wall_s=24 * 3600, cpu_s=7 * 24 * 3600, memory_bytes=8 << 30, file_bytes=64 << 30, network=False)
Distiller = Callable[[DistillMergeArguments, threading.Event, ReportProgress], DistillMergeResult]


class Versions(NamedTuple):
    """The versions of one line that a merge begins with."""

    cloud: ModelVersion
    device: ModelVersion


class Kept(NamedTuple):
    """The candidates of one line, in the registry and in no version yet."""

    cloud: Blob
    device: Blob


Publish = Callable[[float, datetime], None]
"""Ends the round; told how many seconds the merge took, and the time."""


def distil_in_a_child(
    arguments: DistillMergeArguments, cancel: threading.Event, report: ReportProgress
) -> DistillMergeResult:
    """The job needs PyTorch, which this process never loads."""
    return run_child(distill_merge_job.JOB, arguments, limits=LIMITS, on_progress=report, cancel=cancel)


def distil_round(
    round_: Round,
    directory: Path,
    cancel: threading.Event,
    report: ReportProgress,
    *,
    now: datetime,
    distiller: Distiller = distil_in_a_child,
) -> Publish:
    """Do the job, or go on with it, and keep its files. Raises what the job raises."""
    before = _lines(round_)
    updates = list(Update.objects.filter(assignment__round=round_).select_related("assignment__base_version"))
    arguments = _arguments(round_, before, updates, directory)
    result = distiller(arguments, cancel, report)
    kept = {
        line.name: Kept(
            cloud=keep_file(path=Path(arguments.output, f"{line.name or 'base'}.cloud"), now=now),
            device=keep_file(path=Path(arguments.output, f"{line.name or 'base'}.device"), now=now),
        )
        for line in result.lines
    }

    def finish(merge_s: float, now: datetime) -> None:
        publish_distilled(
            round_id=round_.pk, before=before, updates=updates, result=result, kept=kept, merge_s=merge_s, now=now
        )

    return finish


@transaction.atomic
def publish_distilled(
    *,
    round_id: int,
    before: Mapping[str, Versions],
    updates: list[Update],
    result: DistillMergeResult,
    kept: Mapping[str, Kept],
    merge_s: float,
    now: datetime,
) -> None:
    """End a merging round: with new champions of the base and the groups, or abandoned for what the base's are like.

    Nothing happens if the round has ended.
    """
    federation = Federation.objects.select_for_update(of=("self",)).get(rounds=round_id)
    rounds = Round.objects.select_for_update(of=("self",)).select_related("federation")
    round_ = rounds.get(pk=round_id)
    ModelPair.objects.select_for_update().get(pk=federation.pair_id)  # the champions that are judged against stay
    if round_.state != Round.State.MERGING:
        return
    for update, judged in zip(updates, result.judged, strict=True):
        Update.objects.filter(pk=update.pk).update(cloud_accuracy=judged.accuracy, kept=judged.kept)
    base = result.lines[0]
    metrics = {**_metrics(round_, result), "merge_s": merge_s}
    forget_checkpoints(round_id)
    fault = _why_not(round_, before[BASE], base)
    if fault is not None:
        abandon(round_=round_, reason=fault, now=now, metrics=metrics)
        return
    version = _publish(round_, base, before[BASE], kept[BASE], metrics, now)
    for line in result.lines[1:]:
        _publish_group(round_, line, before, kept[line.name], now)
    if not isinstance(round_.parsed_plan().groups, One):
        record_split(
            federation=federation,
            round_number=round_.number,
            lines={
                update.assignment.device_id: judged.line for update, judged in zip(updates, result.judged, strict=True)
            },
            silhouettes=result.silhouettes,
            distances=result.distances,
            reason=reasons.split(result.reason),
            now=now,
        )
    publish(round_=round_, version=version, metrics=metrics, now=now)


def _why_not(round_: Round, before: Versions, base: NewLine) -> Reason | None:
    """Why the base's candidates are not published; None: they are."""
    pair_id, tolerance = before.cloud.pair_id, round_.federation.tolerance
    in_use = Versions(*(champion(pair_id, role) or before.cloud for role in (Role.CLOUD, Role.DEVICE)))
    if (in_use.cloud.pk, in_use.device.pk) != (before.cloud.pk, before.device.pk):
        return reasons.BASE_MOVED
    for old, new, worse in (
        (base.cloud_before, base.cloud_after, reasons.worse_cloud_model),
        (base.device_before, base.device_after, reasons.worse_than_champion),
    ):
        if old is not None and new is not None and new.accuracy < old.accuracy - tolerance - ROUNDING:
            return worse(candidate=new.accuracy, champion=old.accuracy, tolerance=tolerance)
    return None


def _publish(
    round_: Round, line: NewLine, before: Versions, kept: Kept, metrics: Mapping[str, float], now: datetime
) -> ModelVersion:
    """The line's new cloud version, then its device version, which is given."""
    origin = ModelVersion.Origin.MERGE if before.device.line == line.name else ModelVersion.Origin.SPLIT
    cloud: dict[str, Metric] = {"models": line.models, "epochs": line.cloud_epochs, **by_class(line.cloud_after)}
    if line.cloud_after is not None:
        cloud |= {"accuracy": line.cloud_after.accuracy, "loss": line.cloud_after.loss}
    pair_id = round_.federation.pair_id
    publish_version(
        pair_id=pair_id,
        role=Role.CLOUD,
        line=line.name,
        origin=origin,
        parent=before.cloud,
        parameters=kept.cloud,
        metrics=cloud,
        now=now,
    )
    return publish_version(
        pair_id=pair_id,
        role=Role.DEVICE,
        line=line.name,
        origin=origin,
        parent=before.device,
        parameters=kept.device,
        metrics={**metrics, **by_class(line.device_after)},
        now=now,
    )


def _publish_group(round_: Round, line: NewLine, before: Mapping[str, Versions], kept: Kept, now: datetime) -> None:
    """New versions of a group that speak for its members as well as what they had does; else it keeps what it had.

    Held-out data of all behaviours says nothing about one behaviour's model: it is judged by its members' outputs. A
    new group had the base's models, and keeps those as versions of its own.
    """
    is_new = line.name not in before
    had = before[BASE] if is_new else before[line.name]
    fits = line.cross_entropy_gap_after <= line.cross_entropy_gap_before + ROUNDING
    figures = {
        "models": line.models,
        "cross_entropy_gap_before": line.cross_entropy_gap_before,
        "cross_entropy_gap": line.cross_entropy_gap_after if fits else line.cross_entropy_gap_before,
    }
    if fits:
        _publish(round_, line, had, kept, figures, now)
    elif is_new:
        as_before = msgspec.structs.replace(line, cloud_after=line.cloud_before, device_after=line.device_before)
        _publish(round_, as_before, had, Kept(had.cloud.parameters, had.device.parameters), figures, now)


def _lines(round_: Round) -> Mapping[str, Versions]:
    """The versions in use now, of the base and of every group."""
    pair_id = round_.federation.pair_id
    names = [BASE, *current_groups(round_.federation).values_list("name", flat=True)]
    found: dict[str, Versions] = {}
    for name in names:
        cloud, device = champion(pair_id, Role.CLOUD, name), champion(pair_id, Role.DEVICE, name)
        assert cloud is not None and device is not None, "a round opens and a group begins with both"
        found[name] = Versions(cloud, device)
    return found


def _arguments(
    round_: Round, before: Mapping[str, Versions], updates: list[Update], directory: Path
) -> DistillMergeArguments:
    federation = round_.federation
    pair = federation.pair
    assert pair.train_step_id is not None and pair.predict_id is not None and federation.cloud_data is not None
    plan = from_values(round_.plan, dict[str, dict[str, object]])
    received = updates_of(round_.pk)

    def blob(sha256: str) -> str:
        return str(BLOBS.local_path(sha256, directory))

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
        lines=tuple(
            Line(name, blob(line.cloud.parameters_id), blob(line.device.parameters_id)) for name, line in before.items()
        ),
        groups_named=federation.groups.count(),
        models=tuple(
            TrainedModel(
                update=StoredUpdate(
                    path=str(received.local_path(update.sha256, directory)),
                    sha256=update.sha256,
                    samples=update.samples,
                    classes=tuple(update.classes),
                ),
                base=blob(update.assignment.base_version.parameters_id),
                line=update.assignment.base_version.line,
            )
            for update in updates
        ),
        local=plan["local"],
        codec=plan["codec"],
        merge=plan["merge"],
        groups=plan["groups"],
        checkpoints=str(checkpoints_of(round_.pk, begun_with=[str(v.pk) for line in before.values() for v in line])),
        output=str(output),
        seed=round_.seed,
    )


def _metrics(round_: Round, result: DistillMergeResult) -> dict[str, float]:
    base = result.lines[0]
    samples = sum(update.samples for update in Update.objects.filter(assignment__round=round_))
    figures: dict[str, float] = {
        **update_figures(round_, samples=samples),
        "updates": len(result.judged),
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
