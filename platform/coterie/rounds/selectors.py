"""Queries on rounds and their assignments."""

from collections import Counter
from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from coterie.core.rows import count_of
from coterie.federations.models import Federation
from coterie.federations.selectors import members, present_members, ready_members, taking_members
from coterie.fleet.counting import latest_count
from coterie.fleet.kinds import able_devices
from coterie.fleet.models import Device
from coterie.fleet.status import DeviceStatus, totals_by_status
from coterie.privacy.reasons import out_of_budget
from coterie.privacy.selectors import affordable
from coterie.privacy.streams import rested, why_never
from coterie.rollouts.selectors import active_rollouts
from coterie.rounds import reasons
from coterie.rounds.intervals import IDLE_CHECK_IN_S, is_steered
from coterie.rounds.models import Assignment, Round
from coterie_learning.pace import View
from coterie_learning.plan import Plan
from coterie_wire.conditions import Reason

INVITED = count_of(Assignment._base_manager.all(), "round") + F("removed_parts")
"""Number of devices that a round has invited, whether or not their assignments are still stored."""


def active_round(federation: Federation, *, lock: bool = False) -> Round | None:
    """The round that is planned or under way; a federation has at most one. With `lock` its row is held."""
    rounds = federation.rounds.filter(state__in=Round.ACTIVE).select_related("federation", "base_version")
    return (rounds.select_for_update(of=("self",), no_key=True) if lock else rounds).first()


def able_members(federation: Federation, plan: Plan, *, now: datetime) -> QuerySet[Device]:
    """Members that are ready and have all kinds that `plan` asks of devices."""
    return able_devices(ready_members(federation, now=now), plan)


def eligible_devices(federation: Federation, plan: Plan, *, now: datetime) -> QuerySet[Device]:
    """Members that could be invited now to a round under `plan`.

    They are ready and able, have no live assignment, have paused long enough, and their privacy budgets cover the cost
    of a release.
    """
    return rested(affordable(_free_devices(federation, plan, now=now), federation, plan), federation, plan)


def _free_devices(federation: Federation, plan: Plan, *, now: datetime) -> QuerySet[Device]:
    live = Assignment.objects.filter(device=OuterRef("pk"), state__in=Assignment.LIVE)
    return able_members(federation, plan, now=now).filter(~Exists(live))


def invitable_devices(round_: Round, *, now: datetime) -> QuerySet[Device]:
    """Eligible devices that have had no assignment in this round, and of which no update waits for its merge.

    In a large fleet, only devices that can be told in time: others take the remaining places when they check in.
    """
    of_round = Q(round=round_)
    if round_.carries_on:
        of_round |= Q(taken_by=round_) | _waits(round_)
    part = Assignment.objects.filter(of_round, device=OuterRef("pk"))
    eligible = eligible_devices(round_.federation, round_.parsed_plan(), now=now).filter(~Exists(part))
    if is_steered(fleet=latest_count()):
        return eligible.filter(Q(by_socket=True) | Q(check_in_s__lte=IDLE_CHECK_IN_S))
    return eligible


def live_parts(round_: Round) -> QuerySet[Assignment]:
    """Assignments that may still deliver to a round: its own, and those that it carries over.

    An update that a supernode holds counts as delivered.
    """
    live = Assignment.objects.filter(state__in=Assignment.LIVE).order_by()
    if round_.plan is not None and round_.parsed_plan().topology.fan_in() is not None:
        live = live.filter(Q(route=None) | Q(route__held_at=None))
    if not round_.carries_on:
        return live.filter(round=round_)
    return live.filter(round__federation=round_.federation_id, round__carries_on=True)


def are_carried(federation: Federation) -> bool:
    """Whether ended asynchronous rounds left assignments that may still deliver, or updates that wait."""
    left = Q(state__in=Assignment.LIVE) | Q(state=Assignment.State.DELIVERED, taken_by=None)
    return Assignment.objects.filter(left, round__federation=federation, round__carries_on=True).exists()


def waiting_parts(round_: Round) -> QuerySet[Assignment]:
    """Assignments that delivered while no round took updates, oldest update first."""
    return Assignment.objects.filter(_waits(round_)).order_by("update__received_at", "pk")


def _waits(round_: Round) -> Q:
    state = Assignment.State.DELIVERED
    return Q(state=state, taken_by=None, round__federation=round_.federation_id, round__carries_on=True)


def view_of(round_: Round, *, now: datetime) -> View:
    """The view of an opened round on which its pace decides."""
    assert round_.opened_at is not None
    return View(
        live=live_parts(round_).count(),
        delivered=round_.updates_in,
        elapsed_s=(now - round_.opened_at).total_seconds(),
        is_open=round_.state == Round.State.OPEN,
    )


def why_too_few(federation: Federation, *, needed: int, now: datetime) -> Reason:
    """Why too few members are ready, with what the others do."""
    plan = federation.parsed_plan()
    paid = affordable(members(federation), federation, plan).count()
    if paid < needed <= members(federation).count():
        return out_of_budget(needed=needed, affordable=paid)
    never = why_never(federation, plan, needed=needed)
    if never is not None:
        return never
    present = present_members(federation, now=now)
    others = Counter[str]()
    for (how, code), count in totals_by_status(present, now=now).items():
        if how is not DeviceStatus.READY:
            others[reasons.blocker_in_words(code or how)] += count
    able, free = able_members(federation, plan, now=now).count(), _free_devices(federation, plan, now=now).count()
    paid = affordable(_free_devices(federation, plan, now=now), federation, plan).count()
    eligible = eligible_devices(federation, plan, now=now).count()
    taking = taking_members(federation).count()
    for what, count in (
        ("absent", taking - present.count()),
        ("of owners who have taken it back", members(federation).count() - taking),
        ("without a kind of the plan", ready_members(federation, now=now).count() - able),
        ("busy with another federation", able - free),
        ("out of privacy budget", free - paid),
        ("resting between two rounds", paid - eligible),
    ):
        if count > 0:
            others[what] += count
    return reasons.needs_devices(needed=needed, eligible=eligible, others=others)


def why_collecting(round_: Round) -> Reason:
    """What an open round waits for."""
    stages = {
        stage or "invited": count
        for stage, count in live_parts(round_).values_list("stage").annotate(count=Count("id"))
    }
    return reasons.collecting(
        wanted=round_.parsed_plan().pace.updates_wanted(),
        delivered=round_.updates_in,
        stages=stages,
    )


def active_federations() -> dict[Federation, Round | None]:
    """Federations in which something may be due, with the round that is planned or under way."""
    active = Round.objects.filter(federation=OuterRef("pk"), state__in=Round.ACTIVE)
    rolling = active_rollouts().filter(federation=OuterRef("pk"))
    carried = Assignment.objects.filter(
        round__federation=OuterRef("pk"), state__in=Assignment.UNENDED, round__carries_on=True
    )
    due = Federation.objects.filter(
        Q(state=Federation.State.RUNNING) | Exists(active) | Exists(rolling) | Exists(carried)
    )
    rounds = Round.objects.filter(state__in=Round.ACTIVE).select_related("federation", "base_version").order_by()
    held = {round_.federation_id: round_ for round_ in rounds}
    return {federation: held.get(federation.pk) for federation in due}
