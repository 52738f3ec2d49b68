"""Does whatever a federation's roll-out is due for; anybody may ask at any time, and asking twice changes nothing."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import fmean
from uuid import UUID

import msgspec

from coterie.core.lease import SKEW
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.registry.models import ModelPair, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.registry.services import move_champion, withdraw_version
from coterie.rollouts import reasons
from coterie.rollouts.models import Rollout, Trial
from coterie.rollouts.selectors import active_rollout, available_devices
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


def plan_rollout(*, federation: Federation, version: ModelVersion, terms: Terms, now: datetime) -> Rollout:
    """A roll-out that waits to begin, after those that were planned before."""
    return Rollout.objects.create(
        federation=federation,
        version=version,
        terms=msgspec.to_builtins(terms),
        created_at=now,
        due_at=now + timedelta(seconds=terms.patience_s()),
    )


def advance_rollout(*, federation: Federation, may_begin: bool, now: datetime) -> Rollout | None:
    """Take the federation's roll-out as far as it goes now; the one that is still planned or under way.

    It begins only where the caller says that no round is held. The caller holds the federation's row.
    """
    rollout = active_rollout(federation, lock=True)
    if rollout is None:
        return None
    ModelPair.objects.select_for_update().get(pk=federation.pair_id)  # the champion that it is judged against stays
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
    """Wait no longer than the terms say from now on: a clock that was set back must not lengthen it by as much."""
    latest = now + timedelta(seconds=rollout.parsed_terms().patience_s(rollout.phase))
    if rollout.due_at > latest + SKEW:
        rollout.due_at = latest
        if rollout.state == State.MEASURING:
            rollout.phase_since = now
        rollout.save(update_fields=["due_at", "phase_since"])


def promote(rollout: Rollout, *, reason: Reason, now: datetime) -> bool:
    """End it well: the candidate is the champion. The caller holds the rows of federation, roll-out and pair."""
    if not end(rollout, State.PROMOTED, reason=reason, now=now):
        return False
    move_champion(version=rollout.version, now=now)
    return True


def _roll_back(rollout: Rollout, *, reason: Reason, now: datetime) -> None:
    """End it with a rollback: its devices return to the champion, and to the personal models that they had before."""
    if end(rollout, State.ROLLED_BACK, reason=reason, now=now):
        withdraw_version(version=rollout.version, now=now)


def is_outdated(rollout: Rollout) -> bool:
    """Whether the champion that a roll-out compares with is not the champion any more."""
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
    if len(available) < terms.reports_needed():
        reason = reasons.needs_devices(needed=terms.reports_needed(), available=len(available))
        if now >= rollout.due_at:
            _roll_back(rollout, reason=reason, now=now)
        else:
            STEPS.explain(rollout, reason)
        return
    group = _chosen(rollout, available, terms.group_size(len(available)))
    Trial.objects.bulk_create(Trial(rollout=rollout, device_id=device) for device in group)
    begun = step(
        rollout,
        State.MEASURING,
        reason=reasons.measuring(group=len(group), reports=0, phases=terms.phase_count()),
        champion=against,
        begun_at=now,
        phase_since=now,
        due_at=now + timedelta(seconds=terms.patience_s()),
        figures={"devices": len(group), "reports": 0, "faults": 0},
    )
    if begun:
        told = {"rollout": str(rollout.pk), "federation": rollout.federation.slug, "devices": len(group)}
        version = {"version": str(rollout.version_id), "version_number": rollout.version.number}
        announce(Event.ROLLOUT_STARTED, {**told, **version}, about=rollout, now=now)


def _chosen(rollout: Rollout, available: Sequence[UUID], count: int, *, phase: int = 0) -> Sequence[str]:
    """So many of the devices, or all where there are fewer, by a draw of this roll-out and phase."""
    drawn_for: tuple[str | int, ...] = (phase,) if phase else ()
    seed = derive_seed(rollout.federation.seed, "rollout", str(rollout.pk), *drawn_for)
    return choose(map(str, available), count=min(count, len(available)), seed=seed)


def _judge(rollout: Rollout, now: datetime) -> None:
    terms = rollout.parsed_terms()
    trials = list(rollout.trials.select_related("device"))
    own = [trial for trial in trials if trial.phase == rollout.phase]
    reported = [trial for trial in trials if trial.reported_at is not None]
    faulty = [trial for trial in reported if trial.fault_code]
    comparison = compare([(c.champion, c.candidate) for trial in reported if (c := trial.compared()) is not None])
    # A device that has left cannot report any more, and nobody waits for it.
    group = sum(trial.reported_at is not None or trial.device.state == Device.State.ENROLLED for trial in own)
    told = sum(trial.reported_at is not None for trial in own)
    needed = min(terms.reports_needed(), len(own)) if rollout.phase else terms.reports_needed()
    figures: dict[str, object] = {"devices": len(trials), "reports": len(reported), "faults": len(faulty)}
    if comparison is not None:
        what = "loss" if comparison.is_loss else "error"
        figures |= {f"champion_{what}": comparison.champion, f"candidate_{what}": comparison.candidate}
    figures |= figures_beside(reported)
    if figures != rollout.figures:
        Rollout.objects.filter(pk=rollout.pk, state=State.MEASURING).update(figures=figures)
        rollout.figures = figures
    verdict = terms.verdict(
        CanaryEvidence(
            group=group,
            reports=told,
            needed=needed,
            told=len(reported),
            faults=len(faulty),
            excess=0.0 if comparison is None else comparison.excess,
            elapsed_s=(now - rollout.phase_began_at()).total_seconds(),
            phase=rollout.phase,
        )
    )
    match verdict:
        case "wait":
            phase, phases = rollout.phase, terms.phase_count()
            if told >= max(group, needed):
                STEPS.explain(rollout, reasons.holding(reports=told, phase=phase, phases=phases))
            else:
                STEPS.explain(rollout, reasons.measuring(group=group, reports=told, phase=phase, phases=phases))
        case "pass":
            assert comparison is not None, "faults alone pass no phase"
            if not _grow(rollout, now):
                promote(rollout, reason=reasons.no_worse(comparison), now=now)
        case "worse":
            assert comparison is not None, "nothing is worse than nothing"
            _roll_back(rollout, reason=reasons.worse(comparison), now=now)
        case "unusable":
            example = faulty[-1].fault_sentence
            reason = reasons.unusable(faults=len(faulty), reports=len(reported), example=example)
            _roll_back(rollout, reason=reason, now=now)
        case "too_few_reports":
            reason = reasons.too_few_reports(reports=told, needed=needed)
            _roll_back(rollout, reason=reason, now=now)


def _grow(rollout: Rollout, now: datetime) -> bool:
    """Begin the next phase that has further devices; False where there is none."""
    terms = rollout.parsed_terms()
    held = set(rollout.trials.values_list("device", flat=True))
    available = available_devices(rollout, now=now)
    others = [device for device in available if device not in held]
    for phase in range(rollout.phase + 1, terms.phase_count()):
        count = terms.group_size(len(available), phase) - (len(available) - len(others))
        if count <= 0 or not others:
            continue  # so few are there that the phases before have asked as many
        group = _chosen(rollout, others, max(count, terms.reports_needed()), phase=phase)
        Trial.objects.bulk_create(Trial(rollout=rollout, device_id=device, phase=phase) for device in group)
        return step(
            rollout,
            State.MEASURING,
            reason=reasons.measuring(group=len(group), reports=0, phase=phase, phases=terms.phase_count()),
            phase=phase,
            phase_since=now,
            due_at=now + timedelta(seconds=terms.patience_s(phase)),
            figures={**rollout.figures, "devices": len(held) + len(group)},
        )
    return False


def figures_beside(reported: Sequence[Trial]) -> dict[str, object]:
    """How the candidate's answers compare with those that were shown: each device's agreement counts once."""
    told = [trial for trial in reported if trial.agreement is not None]
    if not told:
        return {}
    found: dict[str, object] = {
        "shadowed": len(told),
        "agreement": fmean(trial.agreement for trial in told if trial.agreement is not None),
    }
    for which in ("champion", "candidate"):
        total = sum((trial.took(which) for trial in told), start=Histogram())
        found |= {f"{which}_p50_s": total.quantile_s(0.5), f"{which}_p99_s": total.quantile_s(0.99)}
    return found
