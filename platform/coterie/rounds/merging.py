"""From merging to published: one worker at a time merges, and whatever happens the round is published once."""

import logging
import math
import tempfile
import threading
import uuid
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from time import perf_counter

import msgspec
from django.db import transaction
from django.db.models import F, FloatField, Q, Sum
from django.db.models.functions import Cast

from coterie.core.errors import CoterieError
from coterie.core.lease import LEASE, Heartbeat
from coterie.federations.models import Federation
from coterie.learning.child.errors import Cancelled, Crashed, OutOfMemory, OutOfTime
from coterie.learning.child.job import Limits, Progress
from coterie.learning.child.run import run_child
from coterie.learning.datasets import MalformedDataset
from coterie.learning.jobs import merge
from coterie.learning.jobs.merge import HeldOut, MergeArguments, MergeResult, NotFinite, StoredUpdate, UpdateChanged
from coterie.learning.merging import merge_stored
from coterie.registry.content import BLOBS
from coterie.registry.models import Blob, ModelPair, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.registry.services import keep_file, publish_version
from coterie.rounds import reasons
from coterie.rounds.ending import MAX_MERGE_ATTEMPTS, abandon
from coterie.rounds.files import updates_of
from coterie.rounds.jobs import ADVANCE
from coterie.rounds.models import Round, Update
from coterie.rounds.transitions import step
from coterie_wire.conditions import Reason

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
Merger = Callable[[MergeArguments, threading.Event], MergeResult]
MEANS = {"mean_loss_before": "loss_before", "mean_loss_after": "loss_after", "mean_accuracy": "accuracy_before"}
"""What devices measured on their own samples: figure of a round by column of an update."""
SMALL_BYTES = 16 << 20
ROUNDING = 1e-9
"""Accuracies are quotients of counts; a loss of exactly the tolerance must not fail by rounding."""


def merge_where_it_pays(arguments: MergeArguments, cancel: threading.Event) -> MergeResult:
    """Merge here if that is small work, else in a process of its own, which spares the server its memory.

    A process takes 0.2 s to start, and 0.6 s on a busy machine; eight updates of the demo's model take 5 ms to merge.
    """
    if _work_bytes(arguments) <= SMALL_BYTES:
        return merge_stored(arguments, _pass_over)
    return run_child(merge.JOB, arguments, limits=Limits(network=False), cancel=cancel)


def _work_bytes(arguments: MergeArguments) -> int:
    """Bytes of all updates as float32, and of the samples to measure with, as they lie in their file."""
    parameters = sum(math.prod(tensor.shape) for tensor in arguments.model.parameters)
    samples = Path(arguments.held_out.dataset).stat().st_size if arguments.held_out is not None else 0
    return 4 * parameters * len(arguments.updates) + samples


def _pass_over(_progress: Progress) -> None:
    """Nobody follows work of milliseconds."""


def merge_round(*, round_id: int, clock: Clock, merger: Merger = merge_where_it_pays) -> None:
    """Merge a round's updates and publish the result, unless it is being done or has been done."""
    lease = uuid.uuid4()
    round_ = _take_lease(round_id, lease, clock())
    if round_ is None:
        return
    started = perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="coterie-merge-") as directory,
        Heartbeat(lambda: _extend_lease(round_id, lease, clock())) as heartbeat,
    ):
        arguments = _arguments(round_, Path(directory))
        try:
            result = merger(arguments, heartbeat.lost)
        except Cancelled:
            return  # Another worker has taken over.
        except (UpdateChanged, NotFinite, MalformedDataset) as error:
            _abandon_merging(round_id, Reason(error.code, str(error)[:400]), clock())
            return
        except (Crashed, OutOfMemory, OutOfTime) as error:
            _give_back(round_, lease, error, clock())
            return
        parameters = keep_file(path=Path(arguments.output), now=clock())
    publish_round(
        round_id=round_id, result=result, parameters=parameters, merge_s=perf_counter() - started, now=clock()
    )


@transaction.atomic
def publish_round(*, round_id: int, result: MergeResult, parameters: Blob, merge_s: float, now: datetime) -> None:
    """End a merging round: with a new champion, or abandoned if the candidate is worse than the federation tolerates.

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
    version = publish_version(
        pair_id=federation.pair_id,
        role=Role.DEVICE,
        origin=ModelVersion.Origin.MERGE,
        parent=round_.base_version,
        parameters=parameters,
        metrics=metrics,
        now=now,
    )
    step(
        round_,
        Round.State.PUBLISHED,
        reason=None,
        now=now,
        result_version=version,
        finished_at=now,
        lease_until=None,
        metrics=metrics,
    )
    published = federation.rounds.filter(state=Round.State.PUBLISHED).count()
    if federation.rounds_wanted is not None and published >= federation.rounds_wanted:
        Federation.objects.filter(pk=federation.pk).update(state=Federation.State.FINISHED)
    ADVANCE.send(federation=str(federation.pk))
    logger.info("%s is published as version %d", round_, version.number)


def _why_not(round_: Round, base: ModelVersion, result: MergeResult) -> Reason | None:
    """Why the candidate is not published; None: it is."""
    in_use = champion(base.pair_id, Role.DEVICE)
    if in_use is None or in_use.pk != base.pk:
        return reasons.BASE_MOVED
    tolerance = round_.federation.tolerance
    if result.base is None or result.candidate is None:
        return None
    if result.candidate.accuracy < result.base.accuracy - tolerance - ROUNDING:
        return reasons.worse_than_champion(
            candidate=result.candidate.accuracy, champion=result.base.accuracy, tolerance=tolerance
        )
    return None


def _metrics(round_: Round, result: MergeResult) -> dict[str, float]:
    """Figures of the round; means over devices are weighted by samples, as the merge is."""
    updates = Update.objects.filter(assignment__round=round_)
    totals = updates.aggregate(
        all_bytes=Sum("size_bytes"),
        **{name: Sum(F(column) * Cast("samples", FloatField())) for name, column in MEANS.items()},
    )
    figures: dict[str, float] = {
        "updates": result.updates,
        "samples": result.samples,
        "update_bytes": totals["all_bytes"],
        **{name: totals[name] / result.samples for name in MEANS},
    }
    if result.base is not None and result.candidate is not None:
        figures |= {
            "accuracy_before": result.base.accuracy,
            "accuracy": result.candidate.accuracy,
            "loss": result.candidate.loss,
        }
    return figures


def _arguments(round_: Round, directory: Path) -> MergeArguments:
    base = round_.base_version
    assert base is not None
    pair = base.pair
    assert pair.predict_id is not None
    held_out = round_.federation.held_out
    plan = msgspec.convert(round_.plan, dict[str, dict[str, object]])
    received = updates_of(round_.pk)
    return MergeArguments(
        model=pair.model_spec(),
        base=str(BLOBS.local_path(base.parameters_id, directory)),
        merge=plan["merge"],
        codec=plan["codec"],
        updates=tuple(
            StoredUpdate(str(received.local_path(update.sha256, directory)), update.sha256, update.samples)
            for update in Update.objects.filter(assignment__round=round_)
        ),
        output=str(directory / "parameters"),
        held_out=None
        if held_out is None
        else HeldOut(
            predict=str(BLOBS.local_path(pair.predict_id, directory)),
            dataset=str(BLOBS.local_path(held_out.blob_id, directory)),
        ),
    )


def _take_lease(round_id: int, lease: uuid.UUID, now: datetime) -> Round | None:
    """The round, ours to merge for a while; None if another worker holds it or it has ended."""
    free = Round.objects.filter(Q(lease_until=None) | Q(lease_until__lt=now), pk=round_id, state=Round.State.MERGING)
    if not free.update(lease_token=lease, lease_until=now + LEASE, merge_attempts=F("merge_attempts") + 1):
        return None
    return Round.objects.select_related("federation__held_out", "base_version__pair").get(pk=round_id)


def _extend_lease(round_id: int, lease: uuid.UUID, now: datetime) -> bool:
    held = Round.objects.filter(pk=round_id, state=Round.State.MERGING, lease_token=lease)
    return held.update(lease_until=now + LEASE) == 1


def _give_back(round_: Round, lease: uuid.UUID, error: CoterieError, now: datetime) -> None:
    """Let the merge be tried again when the lease ends; after the last attempt abandon the round."""
    logger.warning("merging %s failed, attempt %d: %s", round_, round_.merge_attempts, error)
    if round_.merge_attempts >= MAX_MERGE_ATTEMPTS:
        _abandon_merging(round_.pk, Reason(error.code, str(error)[:400]), now)
    else:
        _extend_lease(round_.pk, lease, now)


@transaction.atomic
def _abandon_merging(round_id: int, reason: Reason, now: datetime) -> None:
    round_ = Round.objects.get(pk=round_id)
    if round_.state == Round.State.MERGING:
        abandon(round_=round_, reason=reason, now=now)
