"""Advances roll-outs of the agent as far as they go; may be called at any time, and calling twice changes nothing."""

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Count, F, Min, Q, QuerySet

from coterie.agent_rollouts import reasons
from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.agent_rollouts.selectors import agents_not_asked
from coterie.agent_rollouts.transitions import STEPS, end
from coterie.core.events import notify_consoles, wake_devices
from coterie.core.resting import LONGEST_S
from coterie.core.scheduler_heartbeat import unbroken_since
from coterie.fleet.agents import UNKNOWN, count_by_release
from coterie.fleet.presence import is_on_time
from coterie_wire.conditions import Reason
from coterie_wire.updating import parts_of

State = AgentRollout.State
OWNERS = ("updates.off", "updates.not_newer", "updates.no_root", "updates.otherwise_installed", "updates.no_client")
"""Refusals that are not the release's fault."""
FEWEST_ROUNDS = 5
"""Fewest assignments, before and after, for which the share of failures is compared."""
LOOKS_BACK = timedelta(days=7)


def advance_agent_rollouts(*, now: datetime) -> float:
    """Advance all running roll-outs, in all projects. Returns the seconds until one may become due."""
    running = list(AgentRollout.objects.filter(state=State.RUNNING).values_list("pk", flat=True))
    for key in running:
        with transaction.atomic():
            rollout = AgentRollout.objects.select_for_update(of=("self",), no_key=True).get(pk=key)
            if rollout.state == State.RUNNING:
                _advance(rollout, now)
    return 0.0 if running else LONGEST_S


def _advance(rollout: AgentRollout, now: datetime) -> None:
    able, left_out = _ask(rollout, now)
    counted = _by_state(rollout)
    phase = _phase_of(rollout, now)
    failures, example = _failures(rollout, now)
    tried = counted["installed"] + counted["failed"] + counted["refused"]
    figures = {"devices": able, "failures": failures, "left_out": left_out, **counted}
    figures |= {"phase_devices": phase.asked, "phase_answered": phase.answered, "phase_absent": phase.absent}
    if figures != rollout.figures:
        rollout.figures = figures
        rollout.save(update_fields=["figures"])
        notify_consoles("agent_rollouts")
    why = reasons.failing(failures=failures, tried=tried, example=example) if failures else None
    if why is None or failures <= rollout.most_failures * tried:
        why = _why_worse(rollout)
    if why is not None:
        end(rollout, State.ROLLED_BACK, reason=why, now=now)
    elif not counted.total():
        STEPS.explain(rollout, reasons.no_device(sum(left_out.values())))
    elif phase.installed_at is None and phase.answered < phase.asked:
        _wait(rollout, phase, now)
    elif not _was_observed_long_enough(rollout, counted, phase, now):
        reason = reasons.watching(share=rollout.share(), asked=counted.total(), installed=counted["installed"])
        STEPS.explain(rollout, reason)
    elif rollout.phase + 1 < len(rollout.phases):
        reason = reasons.watching(
            share=rollout.phases[rollout.phase + 1], asked=counted.total(), installed=counted["installed"]
        )
        begin_next_phase(rollout, reason=reason, now=now)
    else:
        end(rollout, State.DONE, reason=reasons.completed(installed=counted["installed"]), now=now)


def _ask(rollout: AgentRollout, now: datetime) -> tuple[int, dict[str, int]]:
    """Ask as many devices as the phase wants; returns how many can be asked in all, and how many cannot, by code."""
    free: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    others = agents_not_asked(rollout)
    for version, refuses, devices in count_by_release(others):
        code = refuses or _why_unfit(version, rollout.version)
        if code:
            left_out[code] += devices
        else:
            free[version] += devices
    asked = _by_state(rollout).total()
    able = asked + free.total()
    wanted = math.ceil(rollout.share() * able) - asked
    if wanted > 0:
        found = others.order_by().filter(version__in=free, refuses_updates="").values_list("pk", "version")
        chosen = heapq.nsmallest(wanted, found.iterator(), key=lambda one: _place(rollout, one[0]))
        _ask_each(rollout, chosen, now)
    return able, dict(left_out)


def _by_state(rollout: AgentRollout) -> Counter[str]:
    return Counter(dict(rollout.updates.order_by().values_list("state").annotate(Count("pk"))))


def _ask_each(rollout: AgentRollout, chosen: Iterable[tuple[UUID, str]], now: datetime) -> None:
    updates = [
        DeviceUpdate(rollout=rollout, device_id=key, phase=rollout.phase, former=agent, asked_at=now, changed_at=now)
        for key, agent in chosen
    ]
    DeviceUpdate.objects.bulk_create(updates, batch_size=500)
    wake_devices(str(update.device_id) for update in updates)


def _place(rollout: AgentRollout, device: UUID) -> bytes:
    """A device's place in the order in which devices are asked, which no device can influence."""
    return hashlib.sha256(rollout.pk.bytes + device.bytes).digest()


def _why_unfit(installed: str, version: str) -> str:
    """Why a device whose agent takes updates does not take this one, as a code; blank: it does."""
    try:
        is_older = parts_of(installed) < parts_of(version)
    except ValueError:
        return UNKNOWN
    return "" if is_older else "updates.not_newer"


def _failures(rollout: AgentRollout, now: datetime) -> tuple[int, str]:
    """How many devices could not use it, went back by themselves, or fell silent with it; and the first's reason."""
    updates = rollout.updates.order_by("changed_at")
    refused = updates.filter(Q(state="failed") | Q(state="refused") & ~Q(reason_code__in=OWNERS))
    silent = _silent(rollout, updates, now)
    first = refused.first()
    example = first.reason_sentence if first is not None else "it has not checked in since"
    return refused.count() + silent.count(), example


def _silent(rollout: AgentRollout, updates: QuerySet[DeviceUpdate], now: datetime) -> QuerySet[DeviceUpdate]:
    """Updates of devices that have installed it and have not checked in for as long as a new agent may take.

    Nobody is silent where the platform itself was down that long ago: its devices may still be on their way back.
    """
    before, since = now - timedelta(seconds=rollout.probation_s), unbroken_since()
    if since is None or since > before:
        return updates.none()
    return updates.filter(state="installed", device__state="enrolled", device__present_until__lt=before)


def _why_worse(rollout: AgentRollout) -> Reason | None:
    """Why devices do worse in rounds than before, each compared with itself; None: they do not."""
    parts = rollout.updates.filter(state="installed", device__assignments__isnull=False)
    is_failure = Q(device__assignments__state__in=("dropped", "rejected"))
    is_end = is_failure | Q(device__assignments__state="delivered")
    is_after = Q(device__assignments__offered_at__gte=F("installed_at"))
    is_before = Q(
        device__assignments__offered_at__lt=F("asked_at"),
        device__assignments__offered_at__gte=F("asked_at") - LOOKS_BACK,
    )
    counted = parts.aggregate(
        after=Count("pk", filter=is_end & is_after),
        failed_after=Count("pk", filter=is_failure & is_after),
        before=Count("pk", filter=is_end & is_before),
        failed_before=Count("pk", filter=is_failure & is_before),
    )
    if min(counted["after"], counted["before"]) < FEWEST_ROUNDS:
        return None
    before, after = counted["failed_before"] / counted["before"], counted["failed_after"] / counted["after"]
    return reasons.worse(before=before, after=after) if after > before + rollout.most_failures else None


class Phase(NamedTuple):
    """The state of the devices that were asked in the current phase."""

    asked: int
    answered: int
    """Devices that have installed it, have refused it, or went back."""
    absent: int
    """Of the others, devices that do not check in now."""
    installed_at: datetime | None
    """When the first of them installed it; None: none has."""


def _phase_of(rollout: AgentRollout, now: datetime) -> Phase:
    own = rollout.updates.order_by().filter(phase=rollout.phase)
    is_open = Q(state__in=DeviceUpdate.OPEN, device__state="enrolled")
    counted = own.aggregate(
        asked=Count("pk", filter=is_open | ~Q(state__in=DeviceUpdate.OPEN)),
        answered=Count("pk", filter=~Q(state__in=DeviceUpdate.OPEN)),
        absent=Count("pk", filter=is_open & ~is_on_time(now, of="device__")),
        installed_at=Min("installed_at", filter=Q(state="installed")),
    )
    return Phase(**counted)


def _wait(rollout: AgentRollout, phase: Phase, now: datetime) -> None:
    """Wait while none of the phase's devices has it yet: devices of earlier phases say nothing about these."""
    who = reasons.who_answered(rollout.share(), asked=phase.asked, answered=phase.answered, absent=phase.absent)
    if now >= rollout.phase_since + timedelta(seconds=rollout.absent_s):
        STEPS.take(rollout, State.PAUSED, reason=reasons.gave_up(who, since=rollout.phase_since))
    elif phase.absent:
        STEPS.explain(rollout, reasons.unanswered(who, since=rollout.phase_since))
    else:
        STEPS.explain(rollout, reasons.watching(share=rollout.share(), asked=phase.asked, installed=0))


def begin_next_phase(rollout: AgentRollout, *, reason: Reason, now: datetime) -> None:
    """Ask more devices from now on."""
    STEPS.take(rollout, State.RUNNING, reason=reason, phase=rollout.phase + 1, phase_since=now)


def _was_observed_long_enough(rollout: AgentRollout, counted: Counter[str], phase: Phase, now: datetime) -> bool:
    """Whether the phase has been observed long enough since its first device installed the release."""
    since = max(rollout.phase_since, phase.installed_at or rollout.phase_since)
    return counted["installed"] > 0 and now >= since + timedelta(seconds=rollout.hold_s)
