"""The one path from candidates to published versions, or to the reason why they are not published."""

import math
from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from coterie.federations.grouping import record_split
from coterie.federations.keeping_back import count_kept_back, count_published, is_patience_exhausted
from coterie.federations.models import Federation
from coterie.merging import reasons
from coterie.merging.candidates import Candidate, FoundSplit, MergeOutcome
from coterie.merging.judging import why_not
from coterie.merging.models import Merge, Update
from coterie.merging.quarantine import quarantine_offenders
from coterie.merging.transitions import State, end
from coterie.privacy.streams import record_release, stream_of
from coterie.registry.models import Metric, ModelPair, ModelVersion, Role
from coterie.registry.services import publish_version
from coterie.rollouts.advancing import plan_rollout
from coterie_wire.conditions import Reason


@transaction.atomic
def publish_outcome(*, merge_id: int, outcome: MergeOutcome, merge_s: float, now: datetime) -> None:
    """End a running merge: with new versions, or abandoned if the base's candidates are not to be published.

    The versions become champions, or where the plan says so are tried by a canary group first. Nothing happens if
    the merge has ended: every worker's outcome is the same.
    """
    federation = Federation.objects.select_for_update(of=("self",), no_key=True).get(merges=merge_id)
    merge = Merge.objects.select_for_update(of=("self",), no_key=True).get(pk=merge_id)
    # The champions with which candidates are compared stay.
    ModelPair.objects.select_for_update(no_key=True).get(pk=federation.pair_id)
    if merge.state != State.RUNNING:
        return
    _record_judgements(outcome)
    _record_release(merge, outcome, now)
    quarantine_offenders(merge=merge, now=now)
    figures = {**outcome.figures, "merge_s": merge_s}
    # Where layers stay on the devices a version is no complete model, and its figures on held-out data mean nothing.
    is_model = merge.parsed_plan().local.scope().is_sent
    fault = why_not(outcome.base, tolerance=federation.tolerance if is_model else math.inf)
    if fault is not None and not (fault.code in reasons.WORSE and is_patience_exhausted(federation)):
        end(merge, State.ABANDONED, reason=fault, metrics=figures, now=now)
        if fault.code in reasons.WORSE:
            count_kept_back(federation=federation, why=fault, advice=reasons.IF_WORSE, now=now)
        return
    count_published(federation=federation)
    rollout = merge.parsed_plan().rollout
    versions = [_publish(candidate, {}, in_use=True, now=now) for candidate in outcome.base[:-1]]
    versions.append(_publish(outcome.base[-1], figures, in_use=not rollout.is_staged(), now=now))
    if rollout.is_staged():
        plan_rollout(federation=federation, version=versions[-1], terms=rollout, now=now)
    for candidate in outcome.groups:
        _publish(candidate, {}, in_use=True, now=now)
    if outcome.split is not None:
        _split(federation, merge, outcome.split, now)
    end(merge, State.PUBLISHED, reason=None, metrics=figures, now=now, result_version=versions[-1])


@transaction.atomic
def abandon(*, merge: Merge, reason: Reason, now: datetime) -> None:
    """End a merge that failed and that no further attempt would change.

    A candidate that is not finite, and a kind that fails, count as kept back, like a candidate that is worse than the
    champion: the next round begins where this one did, and is likely to end alike.
    """
    federation = Federation.objects.select_for_update(of=("self",), no_key=True).get(merges=merge.pk)
    ended = end(merge, State.ABANDONED, reason=reason, metrics={}, now=now)
    advice = reasons.IF_REPEATED.get(reason.code)
    if ended and advice is not None:
        count_kept_back(federation=federation, why=reason, advice=advice, now=now)


def _record_release(merge: Merge, outcome: MergeOutcome, now: datetime) -> None:
    """Count the sum among the releases of its stream, published or not: the decision itself reveals something of it."""
    stream = stream_of(merge.parsed_plan())
    if stream is not None and outcome.summed:
        record_release(
            federation=merge.federation, stream=stream, release=merge.release, digest=outcome.summed, now=now
        )


def _record_judgements(outcome: MergeOutcome) -> None:
    """Store what the merge measured of each update, also where nothing is published."""
    for update, judged in outcome.judged.items():
        Update.objects.filter(pk=update).update(cloud_accuracy=judged.accuracy, kept=judged.kept)
    for update, compared in outcome.compared.items():
        Update.objects.filter(pk=update).update(
            merge_weight=compared.weight, merge_distance=compared.distance, kept=compared.weight > 0
        )
    for update, fault in outcome.faults.items():
        Update.objects.filter(pk=update).update(fault_code=fault.code, fault_sentence=fault.sentence)


def _publish(candidate: Candidate, figures: Mapping[str, Metric], *, in_use: bool, now: datetime) -> ModelVersion:
    parent = candidate.parent
    origin = ModelVersion.Origin.MERGE if parent.lineage == candidate.lineage else ModelVersion.Origin.SPLIT
    return publish_version(
        pair_id=parent.pair_id,
        role=Role(parent.role),
        lineage=candidate.lineage,
        origin=origin,
        parent=parent,
        parameters=candidate.parameters,
        server_state=candidate.server_state,
        difference=candidate.difference,
        metrics={**figures, **candidate.metrics},
        now=now,
        in_use=in_use,
    )


def _split(federation: Federation, merge: Merge, split: FoundSplit, now: datetime) -> None:
    record_split(
        federation=federation,
        round_number=merge.number,
        lineages=split.lineages,
        silhouettes=split.silhouettes,
        distances=split.distances,
        reason=split.reason,
        now=now,
    )
