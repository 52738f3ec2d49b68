"""From merging to published: one worker at a time merges, and whatever happens the round is published once."""

import logging
import math
import tempfile
import threading
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from time import perf_counter

from django.db import transaction

from coterie.child.errors import Cancelled, Crashed, OutOfMemory, OutOfTime
from coterie.child.job import Limits, Progress
from coterie.child.run import run_child
from coterie.cloud import averaging_job
from coterie.cloud.averaging import merge_stored
from coterie.cloud.averaging_job import HeldOut, MergeArguments, MergeResult, StoredUpdate
from coterie.core.errors import CoterieError
from coterie.core.lease import Heartbeat
from coterie.federations.models import Federation
from coterie.registry.content import BLOBS
from coterie.registry.models import Blob, ModelPair, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.registry.services import keep_file, publish_version
from coterie.rollouts.advancing import plan_rollout
from coterie.rounds import reasons
from coterie.rounds.distilling import Distiller, Publish, distil_in_a_child, distil_round
from coterie.rounds.ending import abandon, publish
from coterie.rounds.figures import ROUNDING, by_class, update_figures
from coterie.rounds.files import updates_of
from coterie.rounds.leasing import abandon_merging, extend_lease, give_back, record_progress, take_lease
from coterie.rounds.models import Round, Update
from coterie_learning.merge.distill import DistillMerge
from coterie_wire.conditions import Reason
from coterie_wire.structs import from_values

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
Merger = Callable[[MergeArguments, threading.Event], MergeResult]
SMALL_BYTES = 16 << 20
SHOWN_EVERY = timedelta(seconds=0.5)


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
    """Nobody follows work of milliseconds."""


def merge_round(
    *,
    round_id: int,
    clock: Clock,
    merger: Merger = merge_where_it_pays,
    distiller: Distiller = distil_in_a_child,
) -> None:
    """Merge a round's updates and publish the result, unless it is being done or has been done."""
    lease = uuid.uuid4()
    round_ = take_lease(round_id, lease, clock())
    if round_ is None:
        return
    started = perf_counter()
    by_distillation = isinstance(round_.parsed_plan().merge, DistillMerge)
    with (
        tempfile.TemporaryDirectory(prefix="coterie-merge-") as directory,
        Heartbeat(lambda: extend_lease(round_id, lease, clock())) as heartbeat,
    ):
        try:
            if by_distillation:
                shown = Shown(round_id, lease, clock)
                finish = distil_round(
                    round_, Path(directory), heartbeat.lost, shown.show, now=clock(), distiller=distiller
                )
            else:
                finish = _average_round(round_, Path(directory), heartbeat.lost, now=clock(), merger=merger)
        except Cancelled:
            return  # Another worker has taken over.
        except (Crashed, OutOfMemory, OutOfTime) as error:
            give_back(round_, lease, error, clock())
            return
        except CoterieError as error:
            abandon_merging(round_id, Reason(error.code, str(error)[:400]), clock())
            return
    finish(perf_counter() - started, clock())


def _average_round(
    round_: Round, directory: Path, cancel: threading.Event, *, now: datetime, merger: Merger
) -> Publish:
    arguments = _arguments(round_, directory)
    result = merger(arguments, cancel)
    parameters = keep_file(path=Path(arguments.output), now=now)
    return lambda merge_s, now: publish_round(
        round_id=round_.pk, result=result, parameters=parameters, merge_s=merge_s, now=now
    )


class Shown:
    """Says on the round how far its merge is, not more often than people can follow."""

    def __init__(self, round_id: int, lease: uuid.UUID, clock: Clock) -> None:
        self._round_id, self._lease, self._clock = round_id, lease, clock
        self._next = clock()

    def show(self, progress: Progress) -> None:
        """Write it, or pass it over for the next."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + SHOWN_EVERY
        sentence = f"{progress.stage}, {progress.done} of {progress.total}"
        record_progress(self._round_id, self._lease, reasons.distilling(sentence), now)


@transaction.atomic
def publish_round(*, round_id: int, result: MergeResult, parameters: Blob, merge_s: float, now: datetime) -> None:
    """End a merging round: with a new version, or abandoned if the candidate is worse than the federation tolerates.

    The version is the champion, or where the plan says so on its way to it through a canary group.

    Nothing happens if the round has ended: every merge of it has the same result.
    """
    federation = Federation.objects.select_for_update(of=("self",)).get(rounds=round_id)
    rounds = Round.objects.select_for_update(of=("self",)).select_related("federation", "base_version")
    round_ = rounds.get(pk=round_id)
    ModelPair.objects.select_for_update().get(pk=federation.pair_id)  # the champion that is judged against stays
    if round_.state != Round.State.MERGING:
        return
    assert round_.base_version is not None
    metrics = {**_metrics(round_, result), "merge_s": merge_s}
    fault = _why_not(round_, round_.base_version, result)
    if fault is not None:
        abandon(round_=round_, reason=fault, now=now, metrics=metrics)
        return
    rollout = round_.parsed_plan().rollout
    version = publish_version(
        pair_id=federation.pair_id,
        role=Role.DEVICE,
        origin=ModelVersion.Origin.MERGE,
        parent=round_.base_version,
        parameters=parameters,
        metrics={**metrics, **by_class(result.candidate)},
        now=now,
        in_use=not rollout.is_staged(),
    )
    if rollout.is_staged():
        plan_rollout(federation=federation, version=version, terms=rollout, now=now)
    publish(round_=round_, version=version, metrics=metrics, now=now)


def _why_not(round_: Round, base: ModelVersion, result: MergeResult) -> Reason | None:
    """Why the candidate is not published; None: it is."""
    in_use = champion(base.pair_id, Role.DEVICE)
    if in_use is None or in_use.pk != base.pk:
        return reasons.BASE_MOVED
    tolerance = round_.federation.tolerance
    if result.base is None or result.candidate is None:
        return None
    if result.candidate.accuracy is None or result.base.accuracy is None:
        if result.candidate.loss > result.base.loss * (1 + tolerance) + ROUNDING:
            return reasons.larger_loss_than_champion(
                candidate=result.candidate.loss, champion=result.base.loss, tolerance=tolerance
            )
    elif result.candidate.accuracy < result.base.accuracy - tolerance - ROUNDING:
        return reasons.worse_than_champion(
            candidate=result.candidate.accuracy, champion=result.base.accuracy, tolerance=tolerance
        )
    return None


def _metrics(round_: Round, result: MergeResult) -> dict[str, float]:
    """Figures of the round."""
    figures: dict[str, float] = {"updates": result.updates, **update_figures(round_, samples=result.samples)}
    if result.base is not None and result.candidate is not None:
        figures["loss"] = result.candidate.loss
        if result.base.accuracy is not None and result.candidate.accuracy is not None:
            figures |= {"accuracy_before": result.base.accuracy, "accuracy": result.candidate.accuracy}
    return figures


def _arguments(round_: Round, directory: Path) -> MergeArguments:
    base = round_.base_version
    assert base is not None
    pair = base.pair
    assert pair.predict_id is not None
    held_out = round_.federation.held_out
    plan = from_values(round_.plan, dict[str, dict[str, object]])
    received = updates_of(round_.pk)
    return MergeArguments(
        model=pair.model_spec(),
        base=str(BLOBS.local_path(base.parameters_id, directory)),
        local=plan["local"],
        merge=plan["merge"],
        codec=plan["codec"],
        updates=tuple(
            StoredUpdate(
                str(received.local_path(update.sha256, directory)), update.sha256, update.samples, tuple(update.classes)
            )
            for update in Update.objects.filter(assignment__round=round_)
        ),
        output=str(directory / "parameters"),
        held_out=None
        if held_out is None
        else HeldOut(
            predict=str(BLOBS.local_path(pair.predict_id, directory)),
            dataset=str(BLOBS.local_path(held_out.blob_id, directory)),
            frozen=None if pair.frozen_id is None else str(BLOBS.local_path(pair.frozen_id, directory)),
        ),
    )
