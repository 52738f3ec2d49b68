"""From open to ended: a round closes, releases devices that have not delivered, and is merged or abandoned."""

import logging
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import Count, Max

from coterie.core.events import wake_devices
from coterie.core.kind_failures import KINDS_FAILED, MEND_IT
from coterie.federations.keeping_back import count_kept_back
from coterie.federations.models import Federation
from coterie.federations.selectors import members
from coterie.merging.asking import request_merge
from coterie.merging.models import Merge, Update
from coterie.registry.models import ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.rounds import reasons
from coterie.rounds.files import UPLOADS
from coterie.rounds.gathering import begin_gathering, has_held_updates
from coterie.rounds.jobs import ADVANCE
from coterie.rounds.models import Assignment, Round, Upload
from coterie.rounds.selectors import view_of
from coterie.rounds.transitions import end_assignments, explain, step
from coterie.secure_sums import services as secure_sums
from coterie.secure_sums.models import SecureSum
from coterie.secure_sums.reasons import LATE
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_learning.pace import Decision
from coterie_wire.conditions import Reason

logger = logging.getLogger(__name__)


def close_if_due(*, round_: Round, now: datetime) -> None:
    """Close an open round once its pace decides so; from then on it accepts no update."""
    if round_.parsed_plan().pace.decide(view_of(round_, now=now)).ends:
        close(round_=round_, now=now)


def close_if_full(*, round_: Round, now: datetime) -> None:
    """Close an open round that has received all the updates it wants.

    Other checks are left to the sweep, so that a delivery does not have to count the other assignments.
    """
    if round_.updates_in >= round_.parsed_plan().pace.updates_wanted():
        close(round_=round_, now=now)


def close(*, round_: Round, now: datetime) -> None:
    """Close an open round, after counting updates that supernodes hold; does nothing if another worker closed it."""
    if has_held_updates(round_):
        begin_gathering(round_=round_, now=now)
        return
    if step(round_, Round.State.CLOSING, reason=reasons.CLOSING, now=now, closed_at=now):
        ADVANCE.send(federation=str(round_.federation_id))


def conclude(*, round_: Round, now: datetime) -> None:
    """Have a closed round merged, or abandon it if too few updates came; open assignments are released or carried over.

    The caller holds the rows of federation and round.
    """
    plan = round_.parsed_plan()
    is_summed = plan.privacy.masking() is not None
    if not round_.carries_on:
        unready = round_.assignments.exclude(state=Assignment.State.JOINED) if is_summed else round_.assignments.all()
        end_assignments(unready, Assignment.State.RELEASED, reason=reasons.CLOSED, now=now)
        _delete_uploads(round_)
    decision = plan.pace.decide(view_of(round_, now=now))
    if is_summed:
        decision = _summed(round_, decision, now)
    if decision.act == "wait":
        explain(round_, decision.reason, now=now)
    elif decision.act == "merge":
        merge = _request_merge(round_, now)
        base_version = merge.base_version
        step(round_, Round.State.MERGING, reason=merge.reason(), now=now, merge=merge, base_version=base_version)
    else:
        cause = _main_cause(round_)
        whole = decision.reason if cause is None else cause.added_to(decision.reason)
        abandon(round_=round_, reason=whole, now=now)
        if cause is not None and cause.reason.code in KINDS_FAILED:
            # The next round would end alike.
            count_kept_back(federation=round_.federation, why=cause.reason, advice=MEND_IT, now=now)


class _MainCause(NamedTuple):
    """Why most devices of a round sent no valid update."""

    reason: Reason
    devices: int
    without: int
    """How many devices sent none."""

    def added_to(self, reason: Reason) -> Reason:
        added = f"of {self.without} devices without a valid update, {self.devices}: {self.reason.sentence}"
        return Reason(reason.code, f"{reason.sentence}; {added}"[:400])


def _main_cause(round_: Round) -> _MainCause | None:
    """None: it is the closing itself, or all sent one."""
    ended = (Assignment.State.DROPPED, Assignment.State.RELEASED, Assignment.State.REJECTED)
    without = round_.assignments.filter(state__in=ended)
    causes = without.exclude(reason_code__in=(reasons.CLOSED.code, "")).values_list("reason_code")
    main = causes.annotate(devices=Count("pk"), sentence=Max("reason_sentence")).order_by("-devices", "reason_code")
    found = main.first()
    if found is None:
        return None
    code, devices, sentence = found
    return _MainCause(Reason(code, sentence), devices, without.count())


def _summed(round_: Round, decision: Decision, now: datetime) -> Decision:
    """What a closed round's secure sum decides: the round waits for it, is merged, or is abandoned."""
    if decision.act == "close":
        secure_sums.fail(cohort=round_.pk, reason=decision.reason, now=now)
        _release_joined(round_, decision.reason, now)
        return decision
    sum_ = secure_sums.advance(cohort=round_.pk, now=now)
    assert sum_ is not None, "a device that delivers to such a round has joined its sum"
    reason = sum_.reason()
    assert reason is not None, "a sum that moves on says what it waits for"
    if sum_.state == SecureSum.State.COLLECTED:
        _deliver(round_, sum_, now)
        return decision
    if sum_.state == SecureSum.State.FAILED:
        _release_joined(round_, reason, now)
        return Decision("close", reason)
    return Decision("wait", reason)


def _deliver(round_: Round, sum_: SecureSum, now: datetime) -> None:
    """Record whose updates are in a sum; its other members were too late."""
    members = round_.assignments.filter(state=Assignment.State.JOINED)
    summed = members.filter(pk__in=sum_.parties.filter(delivered_at__isnull=False).values("pk"))
    devices = [str(device) for device in summed.values_list("device_id", flat=True)]
    summed.update(state=Assignment.State.DELIVERED, reason_code="", reason_sentence="", changed_at=now)
    wake_devices(devices)
    _release_joined(round_, LATE, now)
    round_.updates_in = len(devices)
    round_.save(update_fields=["updates_in"])


def _release_joined(round_: Round, reason: Reason, now: datetime) -> None:
    joined = round_.assignments.filter(state=Assignment.State.JOINED)
    end_assignments(joined, Assignment.State.RELEASED, reason=reason, now=now)


def follow_merge(*, round_: Round, now: datetime) -> None:
    """End a merging round once its merge has ended; until then record the merge's progress.

    The caller holds the rows of federation and round.
    """
    assert round_.merge_id is not None, "a merging round has a merge"
    merge = Merge.objects.select_related("result_version").get(pk=round_.merge_id)
    reason = merge.reason()
    match Merge.State(merge.state):
        case Merge.State.PUBLISHED:
            assert merge.result_version is not None, "a published merge has a version"
            _publish(round_, merge.result_version, now)
        case Merge.State.ABANDONED:
            assert reason is not None, "what is abandoned has its reason"
            abandon(round_=round_, reason=reason, now=now)
        case Merge.State.RUNNING:
            assert reason is not None, "what is waited for has its reason"
            explain(round_, reason, now=now)


def abandon(*, round_: Round, reason: Reason, now: datetime) -> None:
    """End a round without a version; the next one is planned."""
    if step(round_, Round.State.ABANDONED, reason=reason, now=now, finished_at=now):
        ADVANCE.send(federation=str(round_.federation_id))


def _request_merge(round_: Round, now: datetime) -> Merge:
    base_version = round_.base_version
    if round_.carries_on:  # its updates have older bases anyway, so the newest version is the base of the merge
        base_version = champion(round_.federation.pair_id, Role.DEVICE, round_.federation.lineage())
    assert base_version is not None, "a round opens with a base"
    return request_merge(
        federation=round_.federation,
        number=round_.number,
        plan=round_.plan,
        seed=round_.seed,
        base_version=base_version,
        updates=Update.objects.filter(assignment__taken_by=round_, fault_code=""),
        fleet=members(round_.federation).count(),
        secure_sum=SecureSum.objects.filter(cohort=round_.pk).first(),
        staleness_allowed=round_.parsed_plan().pace.staleness_allowed(),
        now=now,
    )


def _publish(round_: Round, version: ModelVersion, now: datetime) -> None:
    """End a merging round as published; finish the federation if it has published as many as it wanted."""
    step(round_, Round.State.PUBLISHED, reason=None, now=now, finished_at=now)
    federation = round_.federation
    announce(
        Event.ROUND_PUBLISHED,
        {
            "federation": federation.slug,
            "round": round_.number,
            "version": str(version.pk),
            "version_number": version.number,
        },
        about=round_,
        now=now,
    )
    published = federation.rounds.filter(state=Round.State.PUBLISHED).count()
    if federation.rounds_wanted is not None and published >= federation.rounds_wanted:
        Federation.objects.filter(pk=federation.pk).update(state=Federation.State.FINISHED)
        announce(Event.FEDERATION_FINISHED, {"federation": federation.slug}, about=federation, now=now)
    ADVANCE.send(federation=str(federation.pk))
    logger.info("%s is published as version %d", round_, version.number)


def _delete_uploads(round_: Round) -> None:
    uploads = Upload.objects.filter(assignment__round=round_)
    unfinished = [upload.assignment_id for upload in uploads]
    uploads.delete()

    def discard() -> None:
        for assignment in unfinished:
            UPLOADS.discard(assignment)

    transaction.on_commit(discard)
