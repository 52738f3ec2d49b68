"""Performs the due steps of a federation's rounds; it may be called at any time, and calling twice changes nothing."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from coterie.core.kind_failures import KindFailed, kind_failures
from coterie.core.resting import LONGEST_S
from coterie.federations.keeping_back import pause_itself
from coterie.federations.models import Federation
from coterie.rollouts.advancing import advance_rollout
from coterie.rollouts.selectors import active_rollout, active_rollouts
from coterie.rounds import reasons
from coterie.rounds.assigning import are_parts_lost, drop_absent
from coterie.rounds.carried_assignments import end_carried, take_waiting
from coterie.rounds.clock import follow_clock, is_ahead
from coterie.rounds.ending import close_if_due, conclude, follow_merge
from coterie.rounds.folding import gather
from coterie.rounds.models import Round
from coterie.rounds.opening import (
    invite,
    open_if_due,
    plan_round,
    seconds_until_due,
    wants_others,
    why_not_open,
)
from coterie.rounds.routing import has_overloaded_supernodes, shed_members
from coterie.rounds.selectors import (
    active_federations,
    active_round,
    are_carried,
    view_of,
    waiting_parts,
    why_collecting,
)
from coterie.rounds.teaching import make_teachers
from coterie.rounds.transitions import explain


def advance_federation(*, federation_id: UUID, now: datetime) -> None:
    """Take the federation's roll-out and its active round as far as they go now; plan a round if there is none.

    Either waits for the other to end; an asynchronous round opens all the same, and waits before it merges.

    Checks before it locks any row: most of the time a round waits for devices, and other writers would wait while the
    members are counted.
    """
    federation = Federation.objects.filter(pk=federation_id).first()
    if federation is not None:
        _advance_if_due(federation, active_round(federation), active_rollout(federation) is not None, now)


def _advance_if_due(federation: Federation, round_: Round | None, rolls_out: bool, now: datetime) -> float:
    """Advance it if anything is due; returns the seconds until something may become due by the clock alone.

    `round_` is its active round; `rolls_out`: it has an active roll-out. Where a kind of its plan fails, it pauses
    itself. Raises KindFailed.
    """
    try:
        with kind_failures():
            return _advance_what_is_due(federation, round_, rolls_out, now)
    except KindFailed as error:
        pause_itself(federation=federation, reason=reasons.kind_failed(error), now=now)
        raise


def _advance_what_is_due(federation: Federation, round_: Round | None, rolls_out: bool, now: datetime) -> float:
    if round_ is None or rolls_out or not _is_idle(round_, now):
        make_teachers(federation=federation, round_=round_, now=now)
        _advance(federation.pk, now)
        is_active = round_ is not None or rolls_out or are_carried(federation)
        return 0.0 if is_active else LONGEST_S  # a planned round is a change of a row, which ends the idle time
    return seconds_until_due(round_=round_, now=now) if round_.state == Round.State.PLANNED else 0.0


@transaction.atomic
def _advance(federation_id: UUID, now: datetime) -> None:
    """Lock the rows of federation, round and roll-out, in this order, so that workers take turns."""
    federation = Federation.objects.select_for_update(no_key=True).filter(pk=federation_id).first()
    if federation is None:
        return
    round_ = active_round(federation, lock=True)
    rollout = advance_rollout(federation=federation, may_begin=round_ is None or _lets_begin(round_), now=now)
    round_ = round_ or plan_round(federation=federation, now=now)
    if round_ is None:
        end_carried(federation=federation, now=now)
        return
    follow_clock(round_=round_, now=now)
    if round_.state == Round.State.PLANNED:
        if rollout is None or federation.parsed_plan().pace.staleness_allowed() is not None:
            open_if_due(round_=round_, now=now)
        else:
            explain(round_, reasons.rolling_out(rollout.version.number, rollout.reason_sentence), now=now)
    elif round_.state == Round.State.OPEN:
        _collect(round_, now)
    if round_.state == Round.State.CLOSING:
        if rollout is None or not round_.carries_on:
            conclude(round_=round_, now=now)
        else:
            explain(round_, reasons.rolling_out(rollout.version.number, rollout.reason_sentence), now=now)
    elif round_.state == Round.State.MERGING:
        follow_merge(round_=round_, now=now)


def sweep(*, now: datetime) -> float:
    """Find everything that is due in any federation; this alone is enough for every round to end.

    Returns the seconds until something may become due by the clock alone.

    A failure in one federation does not delay the others. Raises ExceptionGroup after all were processed.

    Most of the time nothing is due anywhere, so the rows that are checked are read for all federations at once.
    """
    failures: list[Exception] = []
    idle_s = LONGEST_S
    rolling_out = set(active_rollouts().values_list("federation", flat=True))
    for federation, round_ in active_federations().items():
        try:
            idle_s = min(idle_s, _advance_if_due(federation, round_, federation.pk in rolling_out, now))
        except Exception as error:  # noqa: BLE001 - raised below
            failures.append(error)
    if failures:
        raise ExceptionGroup("rounds could not go on", failures)
    return idle_s


def _is_idle(round_: Round, now: datetime) -> bool:
    """Whether nothing is due in the round; records what it waits for."""
    if round_.state == Round.State.PLANNED and round_.federation.state != Federation.State.FINISHED:
        if is_ahead(round_, now=now):
            return False
        reason = why_not_open(round_=round_, now=now)
        if reason is not None:
            explain(round_, reason, now=now)
        return reason is not None
    if round_.state != Round.State.OPEN or round_.gathers_since is not None:
        return False
    view = view_of(round_, now=now)
    if view.elapsed_s < 0 or round_.parsed_plan().pace.decide(view).ends:
        return False
    if round_.carries_on and waiting_parts(round_).exists():
        return False
    if has_overloaded_supernodes(round_):
        return False
    if wants_others(round_=round_, view=view, now=now) or are_parts_lost(round_=round_, now=now):
        return False
    if round_.at_work != view.live:
        Round.objects.filter(pk=round_.pk, state=Round.State.OPEN).update(at_work=view.live)
    explain(round_, why_collecting(round_), now=now)
    return True


def _lets_begin(round_: Round) -> bool:
    """Whether a roll-out may begin during the round: before it opens, and in an asynchronous one until its merge.

    Updates of a synchronous round would be differences from a version that is about to be replaced.
    """
    return round_.state == Round.State.PLANNED or (round_.carries_on and round_.state != Round.State.MERGING)


def _collect(round_: Round, now: datetime) -> None:
    if round_.gathers_since is not None:
        gather(round_=round_, now=now)
        return
    drop_absent(round_=round_, now=now)
    if has_overloaded_supernodes(round_):
        shed_members(round_=round_, now=now)
    if round_.carries_on:
        take_waiting(round_=round_)
    close_if_due(round_=round_, now=now)
    if round_.state == Round.State.OPEN:
        invite(round_=round_, now=now)
        explain(round_, why_collecting(round_), now=now)
