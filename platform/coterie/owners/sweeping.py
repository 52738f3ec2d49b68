"""Continues forgetting devices; each step can be repeated, so that a killed worker does no harm."""

import logging
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import Q, QuerySet

from coterie.core.durable import Steps
from coterie.core.file_removal import removal
from coterie.core.resting import LONGEST_S
from coterie.fleet.models import Device
from coterie.merging.models import Merge, Update
from coterie.owners import files
from coterie.owners.files import Leftover, leftovers
from coterie.owners.models import Forgetting, Rebuild
from coterie.owners.reasons import REMOVING, in_a_sum, in_an_answer, is_rebuilt
from coterie.owners.rebuilding import request_rebuilds
from coterie.owners.sections import SECTIONS
from coterie.owners.taking_out import hold_rounds, in_sums, open_question, take_out
from coterie.rounds.models import Assignment, Round
from coterie.secure_sums.models import Party
from coterie.transfer.models import HelpRequest
from coterie_wire.owning import HoldsUpdate

logger = logging.getLogger(__name__)
State = Forgetting.State

STEPS = Steps(
    Forgetting,
    ways={State.ASKED: frozenset({State.REMOVING}), State.REMOVING: frozenset({State.DONE}), State.DONE: frozenset()},
    app="fleet",
)
REMOVED = frozenset(
    {"observations", "routes", "round_events", "memberships", "trials", "profiles", "reported_days", "personal_figures"}
    | {"latencies", "questions", "evaluations", "credentials"}
)
"""Sections of the export whose rows go beside updates: all that it reported, and what was found of that."""


def sweep(*, now: datetime) -> float:
    """Advance every device that is to be forgotten as far as it goes now. Returns seconds until one may be due.

    Raises ExceptionGroup after all were tried.
    """
    failures: list[Exception] = []
    unfinished = list(Forgetting.objects.exclude(state=State.DONE).values_list("pk", flat=True))
    for key in unfinished:
        try:
            advance_forgetting(key, now=now)
        except Exception as error:  # noqa: BLE001 - raised below
            failures.append(error)
    if failures:
        raise ExceptionGroup("devices could not be forgotten", failures)
    return 0.0 if unfinished else LONGEST_S


def advance_forgetting(key: UUID, *, now: datetime) -> None:
    """Remove its rows once it is in no open sum, then its files, but not during a backup, and wait for its rebuilds."""
    _remove_rows(key, now)
    if Forgetting.objects.filter(pk=key, state=State.REMOVING).exists():
        with removal() as allowed:
            if allowed:
                _remove_files(key, now)


@transaction.atomic
def _remove_rows(key: UUID, now: datetime) -> None:
    device = Device.objects.get(forgetting=key)
    hold_rounds(device)
    forgetting = Forgetting.objects.select_for_update(no_key=True).get(pk=key)
    if forgetting.state != State.ASKED:
        return
    taken_out, left = take_out(device, now=now)  # what was on its way when it was asked
    part = in_sums(device).first()
    if part is not None:
        round_ = part.taken_by or part.round
        STEPS.explain(forgetting, in_a_sum(part.round.federation.slug, round_.number))
        _add(forgetting, taken_out, left)
        return
    question = open_question(device)
    if question is not None:
        STEPS.explain(forgetting, in_an_answer(question.federation.slug))
        _add(forgetting, taken_out, left)
        return
    holds = holding(device)
    request_rebuilds(forgetting, merges_holding(device), now=now)
    left = [*left, *_clear_sums(device, now)]
    removed, own_files = _remove(device)
    _add(forgetting, taken_out, [*left, *own_files])
    STEPS.take(forgetting, State.REMOVING, reason=REMOVING, removed=removed, holds=msgspec.to_builtins(holds))


def _add(forgetting: Forgetting, taken_out: int, left: Sequence[Leftover]) -> None:
    if taken_out or left:
        forgetting.taken_out += taken_out
        forgetting.files = [*forgetting.files, *msgspec.to_builtins(left)]
        forgetting.save(update_fields=["taken_out", "files"])


def holding(device: Device) -> list[HoldsUpdate]:
    """The versions that were made of its updates, oldest first; their descendants contain them too."""
    in_sums = set(_summed(device).values_list("pk", flat=True))
    found = [_holds(merge, in_sum=merge.pk in in_sums) for merge in merges_holding(device)]
    return sorted(found, key=lambda one: (one.at, one.federation))


def merges_holding(device: Device) -> list[Merge]:
    """The merges that were published and counted an update of it."""
    by_itself = _counted(device).filter(partial=None).values("merge")
    found = Merge.objects.filter(pk__in=by_itself) | _summed(device)
    return list(found.select_related("result_version", "federation").order_by("pk"))


def _summed(device: Device) -> QuerySet[Merge]:
    """The merges that counted it in a sum."""
    parties = Party.objects.filter(device=device, delivered_at__isnull=False, out_of_budget=False)
    masked = parties.filter(sum__merge__state=Merge.State.PUBLISHED).values("sum__merge")
    relayed = _counted(device).exclude(partial=None).values("merge")
    return Merge.objects.filter(Q(pk__in=masked) | Q(pk__in=relayed))


def _counted(device: Device) -> QuerySet[Update]:
    found = Update.objects.filter(device=device, merge__state=Merge.State.PUBLISHED, fault_code="")
    return found.exclude(kept=False).exclude(merge_weight=0)


def _holds(merge: Merge, *, in_sum: bool) -> HoldsUpdate:
    assert merge.result_version is not None, "a published merge has a version"
    version = merge.result_version
    return HoldsUpdate(
        federation=merge.federation.slug,
        version=version.number,
        version_id=str(version.pk),
        at=version.created_at.isoformat(),
        in_sum=in_sum,
    )


def _clear_sums(device: Device, now: datetime) -> list[Leftover]:
    """Rounds in whose sums it is, or may be, are over: nothing of them is kept, as it cannot be taken out alone."""
    relayed = Update.objects.filter(device=device).exclude(partial=None).values("cohort")
    summed = Party.objects.filter(device=device).values("sum__cohort")
    rounds = Round.objects.filter(Q(pk__in=relayed) | Q(pk__in=summed), tidied_at=None)
    cohorts = list(rounds.values_list("pk", flat=True))
    Round.objects.filter(pk__in=cohorts).update(tidied_at=now)
    return [Leftover(cohort=cohort) for cohort in cohorts]


def _remove(device: Device) -> tuple[dict[str, int], list[Leftover]]:
    """Delete what it reported; returns the numbers of rows by section, and the files of its updates."""
    updates = Update.objects.filter(device=device)
    own_files = [
        Leftover(cohort=cohort, sha256=sha256)
        for cohort, sha256 in updates.filter(partial=None).values_list("cohort", "sha256")
    ]
    Assignment.objects.filter(device=device).update(update=None)
    removed = {"updates": updates.delete()[0]}
    for section in SECTIONS:
        if section.name in REMOVED:
            removed[section.name] = section.model._base_manager.filter(**{section.by: device}).delete()[0]
    HelpRequest.objects.filter(device=device).update(classes=[], profile={})
    Party.objects.filter(device=device).update(boxes="", shares="")
    return {name: count for name, count in removed.items() if count}, own_files


def _remove_files(key: UUID, now: datetime) -> None:
    forgetting = Forgetting.objects.get(pk=key)
    left = [leftover for leftover in leftovers(forgetting.files) if not files.remove(leftover)]
    Forgetting.objects.filter(pk=key).update(files=msgspec.to_builtins(left))
    unfinished = Rebuild.objects.filter(forgetting=key).exclude(state=Rebuild.State.DONE).select_related("federation")
    rebuild = unfinished.order_by("asked_at", "pk").first()
    if rebuild is not None:
        STEPS.explain(forgetting, is_rebuilt(rebuild.federation.slug, rebuild.reason()))
    elif not left and STEPS.take(forgetting, State.DONE, reason=None, finished_at=now, files=[]):
        logger.info("%s is done", forgetting)
