"""Assignments of asynchronous rounds outlive their round; their updates go into later rounds."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from django.db.models import F, QuerySet

from coterie.federations.models import Federation
from coterie.merging.models import Update
from coterie.registry.selectors import latest_ancestors
from coterie.rounds import reasons
from coterie.rounds.models import Assignment, Round
from coterie.rounds.selectors import active_round, waiting_parts
from coterie.rounds.transitions import end_assignments
from coterie_learning.plan import Plan
from coterie_wire.conditions import Reason


def carry_over(*, round_: Round, now: datetime) -> None:
    """Carry the assignments and updates of earlier rounds over into a round that has just opened.

    Assignments whose updates would not count any more are ended before their devices finish training. The caller holds
    the round's row.
    """
    earlier = Assignment.objects.filter(round__federation=round_.federation_id, round__carries_on=True)
    live = earlier.filter(state__in=Assignment.UNENDED)
    waiting = earlier.filter(state=Assignment.State.DELIVERED, taken_by=None)
    for parts, reason in _unfit(live, round_):
        end_assignments(parts, Assignment.State.RELEASED, reason=reason, now=now)
    for parts, reason in _unfit(waiting, round_):
        _refuse(parts, reason)
    if round_.carries_on:
        take_waiting(round_=round_)


def take_waiting(*, round_: Round) -> None:
    """Take the oldest waiting updates, one per device, as many as the round wants. The caller holds its row."""
    room = round_.parsed_plan().pace.updates_wanted() - round_.updates_in
    if room <= 0:
        return
    holders = set(round_.entries.values_list("device", flat=True))
    taken: dict[UUID, UUID] = {}
    for part, device in waiting_parts(round_).values_list("pk", "device"):
        if device not in holders:
            taken.setdefault(device, part)
    chosen = list(taken.values())[:room]
    if chosen:
        Assignment.objects.filter(pk__in=chosen).update(taken_by=round_)
        round_.updates_in += len(chosen)
        round_.save(update_fields=["updates_in"])


def taking_round(assignment: Assignment) -> Round | None:
    """The round that takes the assignment's update now, with its row held; None: the update waits for the next one."""
    if not assignment.round.carries_on:
        return assignment.round
    round_ = active_round(assignment.round.federation, lock=True)
    if round_ is None or round_.state != Round.State.OPEN or not round_.carries_on:
        return None
    is_full = round_.updates_in >= round_.parsed_plan().pace.updates_wanted()
    return None if is_full or round_.entries.filter(device=assignment.device_id).exists() else round_


def end_carried(*, federation: Federation, now: datetime) -> None:
    """End the federation's carried assignments if no later round will take their updates. The caller holds its row."""
    holds_rounds = federation.state != Federation.State.FINISHED and federation.parsed_plan().pace.holds_rounds()
    if not holds_rounds:
        why = reasons.FINISHED if federation.state == Federation.State.FINISHED else reasons.PLAN_CHANGED
        parts = Assignment.objects.filter(round__federation=federation, round__carries_on=True)
        end_assignments(parts, Assignment.State.RELEASED, reason=why, now=now)


def _unfit(parts: QuerySet[Assignment], round_: Round) -> Iterator[tuple[QuerySet[Assignment], Reason]]:
    """The assignments among `parts` whose updates neither the newly opened round nor a later one can merge, and why."""
    plan = round_.parsed_plan()
    allowed = plan.pace.staleness_allowed()
    for earlier in Round.objects.filter(pk__in=parts.order_by().values("round")).exclude(pk=round_.pk):
        if allowed is None or not _makes_same_updates(earlier.parsed_plan(), plan):
            yield parts.filter(round=earlier), reasons.PLAN_CHANGED
    if allowed is not None and round_.base_version is not None:
        fresh = latest_ancestors(round_.base_version, count=allowed + 1)
        yield parts.exclude(base_version__in=fresh), reasons.too_stale(allowed)


def _refuse(parts: QuerySet[Assignment], reason: Reason) -> None:
    """Mark waiting updates as faulty with the reason, so that no merge takes them."""
    keys = list(parts.values_list("pk", flat=True))
    Update.objects.filter(pk__in=keys).update(fault_code=reason.code, fault_sentence=reason.sentence)
    Assignment.objects.filter(pk__in=keys).update(taken_by=F("round"))


def _makes_same_updates(one: Plan, other: Plan) -> bool:
    return (one.local, one.codec, one.privacy) == (other.local, other.codec, other.privacy)
