"""Performs the due steps of a federation's roll-out; may be called at any time, and calling twice changes nothing."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import fmean
from uuid import UUID

import msgspec

from coterie.core.events import notify_consoles
from coterie.core.lease import SKEW
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.registry.models import ModelPair, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.registry.services import move_champion, withdraw_version
from coterie.rollouts import reasons
from coterie.rollouts.models import Rollout, Trial
from coterie.rollouts.selectors import absent_devices, active_rollout, available_devices
from coterie.rollouts.transitions import STEPS, end, step
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_learning.random import derive_seed
from coterie_learning.rollout import CanaryEvidence
from coterie_learning.rollout import Rollout as Terms
from coterie_learning.rollout.comparison import compare
from coterie_learning.selection import choose
from coterie_wire.conditions import Reason
from coterie_wire.latency import Histogram

State = Rollout.State
ENROLLED = Device.State.ENROLLED


def plan_rollout(*, federation: Federation, version: ModelVersion, terms: Terms, now: datetime) -> Rollout:
    """Create a roll-out that waits to begin, after those that were planned before."""
    return Rollout.objects.create(
        federation=federation,
        version=version,
        terms=msgspec.to_builtins(terms),
        created_at=now,
        due_at=now + timedelta(seconds=terms.patience_s() + terms.absence_s()),
    )


def advance_rollout(*, federation: Federation, may_begin: bool, now: datetime) -> Rollout | None:
    """Advance the federation's roll-out as far as it goes now; returns the one that is still planned or under way.

    It begins only where the caller allows it, as no round is held. The caller holds the federation's row.
    """
    rollout = active_rollout(federation, lock=True)
    if rollout is None:
        return None
    # The champion with which it is compared stays.
    ModelPair.objects.select_for_update(no_key=True).get(pk=federation.pair_id)
    _follow_clock(rollout, now)
    if rollout.state == State.PLANNED:
        _begin_if_due(rollout, may_begin, now)
    if rollout.state == State.MEASURING:
        if is_outdated(rollout):
            end(rollout, State.CANCELLED, reason=reasons.CHAMPION_MOVED, now=now)
        else:
            _judge(rollout, now)
    return rollout if rollout.state in Rollout.ACTIVE else None


def _follow_clock(rollout: Rollout, now: datetime) -> None:
    """Limit the wait from now on to that of the terms: a clock that was set back must not lengthen it by as much."""
    terms = rollout.parsed_terms()
    rests = rollout.state == State.PLANNED or rollout.absent_since is not None
    latest = now + timedelta(seconds=terms.patience_s(rollout.phase) + terms.absence_s(rollout.phase) * rests)
    if rollout.due_at > latest + SKEW:
        rollout.due_at = latest
        if rollout.state == State.MEASURING:
            rollout.phase_since, rollout.rested_s = now, 0.0
            rollout.absent_since = now if rests else None
        rollout.save(update_fields=["due_at", "phase_since", "rested_s", "absent_since"])


def promote(rollout: Rollout, *, reason: Reason, now: datetime) -> bool:
    """End it: the candidate becomes champion. The caller holds the rows of federation, roll-out and pair."""
    if not end(rollout, State.PROMOTED, reason=reason, now=now):
        return False
    move_champion(version=rollout.version, now=now)
    return True


def _roll_back(rollout: Rollout, *, reason: Reason, now: datetime) -> None:
    """End it with a rollback: its devices return to the champion, and to the personal models that they had before."""
    if end(rollout, State.ROLLED_BACK, reason=reason, now=now):
        withdraw_version(version=rollout.version, now=now)


def is_outdated(rollout: Rollout) -> bool:
    """Whether the version with which a roll-out compares is no longer the champion."""
    return rollout.champion is not None and rollout.champion != _in_use(rollout)


def _in_use(rollout: Rollout) -> ModelVersion | None:
    return champion(rollout.version.pair_id, Role.DEVICE, rollout.version.lineage)


def _begin_if_due(rollout: Rollout, may_begin: bool, now: datetime) -> None:
    if not may_begin:
        STEPS.explain(rollout, reasons.AFTER_ROUND)
        return
    against = _in_use(rollout)
    if against == rollout.version:
        end(rollout, State.CANCELLED, reason=reasons.IN_USE, now=now)
        return
    terms = rollout.parsed_terms()
    available = available_devices(rollout, now=now)
    absent = absent_devices(rollout, now=now)
    if len(available) < terms.reports_needed():
        reason = reasons.needs_devices(
            needed=terms.reports_needed(), available=len(available), absent=len(absent), since=rollout.created_at
        )
        if now >= rollout.due_at:
            _roll_back(rollout, reason=reason, now=now)
        else:
            STEPS.explain(rollout, reason)
        return
    group = _chosen(rollout, available, absent, terms.group_size(len(available) + len(absent)))
    Trial.objects.bulk_create(Trial(rollout=rollout, device_id=device) for device in group)
    begun = step(
        rollout,
        State.MEASURING,
        reason=reasons.measuring(group=len(group), reports=0, phases=terms.phase_count()),
        champion=against,
        begun_at=now,
        phase_since=now,
        due_at=now + timedelta(seconds=terms.patience_s()),
        figures={
            "devices": len(group),
            "reports": 0,
            "faults": 0,
            "phase_devices": len(group),
            "phase_reports": 0,
            "phase_absent": max(0, len(group) - len(available)),
        },
    )
    if begun:
        facts = {"rollout": str(rollout.pk), "federation": rollout.federation.slug, "devices": len(group)}
        version = {"version": str(rollout.version_id), "version_number": rollout.version.number}
        announce(Event.ROLLOUT_STARTED, {**facts, **version}, about=rollout, now=now)


def _chosen(
    rollout: Rollout, available: Sequence[UUID], absent: Sequence[UUID], count: int, *, phase: int = 0
) -> Sequence[str]:
    """A random choice of the devices, seeded by roll-out and phase; absent ones only where too few are present."""
    drawn_for: tuple[str | int, ...] = (phase,) if phase else ()
    seed = derive_seed(rollout.federation.seed, "rollout", str(rollout.pk), *drawn_for)
    present = choose(map(str, available), count=min(count, len(available)), seed=seed)
    return (*present, *choose(map(str, absent), count=min(count - len(present), len(absent)), seed=seed))


def _judge(rollout: Rollout, now: datetime) -> None:
    terms = rollout.parsed_terms()
    trials = list(rollout.trials.select_related("device"))
    own = [trial for trial in trials if trial.phase == rollout.phase]
    reported = [trial for trial in trials if trial.reported_at is not None]
    faulty = [trial for trial in reported if trial.fault_code]
    comparison = compare([(c.champion, c.candidate) for trial in reported if (c := trial.compared()) is not None])
    reports = sum(trial.reported_at is not None for trial in own)
    # A device that has left cannot report any more, so it is not waited for.
    silent = [trial.device for trial in own if trial.reported_at is None and trial.device.state == ENROLLED]
    absent = sum(not device.is_present(now) for device in silent)
    group = reports + len(silent)
    needed = min(terms.reports_needed(), len(own)) if rollout.phase else terms.reports_needed()
    figures: dict[str, object] = {"devices": len(trials), "reports": len(reported), "faults": len(faulty)}
    figures |= {"phase_devices": len(own), "phase_reports": reports, "phase_absent": absent}
    if comparison is not None:
        what = "loss" if comparison.is_loss else "error"
        figures |= {f"champion_{what}": comparison.champion, f"candidate_{what}": comparison.candidate}
    figures |= shadow_figures(reported)
    if figures != rollout.figures:
        Rollout.objects.filter(pk=rollout.pk, state=State.MEASURING).update(figures=figures)
        rollout.figures = figures
    rested_s = rollout.rested_until_s(now)
    verdict = terms.verdict(
        CanaryEvidence(
            group=group,
            reports=reports,
            needed=needed,
            total_reports=len(reported),
            faults=len(faulty),
            excess=0.0 if comparison is None else comparison.excess,
            elapsed_s=(now - rollout.phase_began_at()).total_seconds() - rested_s,
            phase=rollout.phase,
            absent=absent,
            rested_s=rested_s,
        )
    )
    _pause_phase_clock(rollout, verdict == "rest", now)
    phase, phases = rollout.phase, terms.phase_count()
    match verdict:
        case "wait":
            if reports >= max(group, needed):
                STEPS.explain(rollout, reasons.holding(reports=reports, phase=phase, phases=phases))
            else:
                reason = reasons.measuring(group=group, reports=reports, absent=absent, phase=phase, phases=phases)
                STEPS.explain(rollout, reason)
        case "rest":
            assert rollout.absent_since is not None, "it stands still"
            since = rollout.absent_since
            reason = reasons.absent(
                group=group, reports=reports, absent=absent, since=since, phase=phase, phases=phases
            )
            STEPS.explain(rollout, reason)
        case "pass":
            assert comparison is not None, "faults alone pass no phase"
            continue_or_promote(rollout, reason=reasons.no_worse(comparison), now=now)
        case "worse":
            assert comparison is not None, "nothing is worse than nothing"
            _roll_back(rollout, reason=reasons.worse(comparison), now=now)
        case "unusable":
            example = faulty[-1].fault_sentence
            reason = reasons.unusable(faults=len(faulty), reports=len(reported), example=example)
            _roll_back(rollout, reason=reason, now=now)
        case "too_few_reports":
            reason = reasons.too_few_reports(reports=reports, needed=needed, absent=absent)
            _roll_back(rollout, reason=reason, now=now)


def _pause_phase_clock(rollout: Rollout, rests: bool, now: datetime) -> None:
    """Stop the clock of the phase from now on, or restart it."""
    if rests == (rollout.absent_since is not None):
        return
    terms = rollout.parsed_terms()
    rollout.rested_s = rollout.rested_until_s(now)
    rollout.absent_since = now if rests else None
    waits_s = terms.absence_s(rollout.phase) if rests else rollout.rested_s
    rollout.due_at = rollout.phase_began_at() + timedelta(seconds=terms.patience_s(rollout.phase) + waits_s)
    rollout.save(update_fields=["rested_s", "absent_since", "due_at"])
    notify_consoles("rollouts")


def continue_or_promote(rollout: Rollout, *, reason: Reason, now: datetime) -> None:
    """Begin the next phase that has further devices; where there is none, promote the candidate for `reason`.

    The caller holds the rows of federation, roll-out and pair.
    """
    if not _begin_next_phase(rollout, now):
        promote(rollout, reason=reason, now=now)


def _begin_next_phase(rollout: Rollout, now: datetime) -> bool:
    """Begin the next phase that has further devices, present or not; False where there is none."""
    terms = rollout.parsed_terms()
    held = set(rollout.trials.values_list("device", flat=True))
    available, absent = available_devices(rollout, now=now), absent_devices(rollout, now=now)
    devices = len(available) + len(absent)
    others = [device for device in available if device not in held]
    others_absent = [device for device in absent if device not in held]
    free = len(others) + len(others_absent)
    for phase in range(rollout.phase + 1, terms.phase_count()):
        count = terms.group_size(devices, phase) - (devices - free)
        if count <= 0 or not free:
            continue  # there are so few that earlier phases have asked as many
        group = _chosen(rollout, others, others_absent, max(count, terms.reports_needed()), phase=phase)
        Trial.objects.bulk_create(Trial(rollout=rollout, device_id=device, phase=phase) for device in group)
        return step(
            rollout,
            State.MEASURING,
            reason=reasons.measuring(group=len(group), reports=0, phase=phase, phases=terms.phase_count()),
            phase=phase,
            phase_since=now,
            absent_since=None,
            rested_s=0.0,
            due_at=now + timedelta(seconds=terms.patience_s(phase)),
            figures={
                **rollout.figures,
                "devices": len(held) + len(group),
                "phase_devices": len(group),
                "phase_reports": 0,
                "phase_absent": sum(device in others_absent for device in map(UUID, group)),
            },
        )
    return False


def shadow_figures(reported: Sequence[Trial]) -> dict[str, object]:
    """How the candidate's shadow answers compare with the champion's: each device's agreement counts once."""
    shadowed = [trial for trial in reported if trial.agreement is not None]
    if not shadowed:
        return {}
    found: dict[str, object] = {
        "shadowed": len(shadowed),
        "agreement": fmean(trial.agreement for trial in shadowed if trial.agreement is not None),
    }
    for which in ("champion", "candidate"):
        total = sum((trial.took(which) for trial in shadowed), start=Histogram())
        found |= {f"{which}_p50_s": total.quantile_s(0.5), f"{which}_p99_s": total.quantile_s(0.99)}
    return found
