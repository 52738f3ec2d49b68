"""Takes roll-outs of the agent as far as they go now; anybody may ask at any time, and asking twice changes nothing."""

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet

from coterie.agent_rollouts import reasons
from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.agent_rollouts.selectors import agents_not_asked
from coterie.agent_rollouts.transitions import STEPS, end
from coterie.core.events import tell_consoles, wake_devices
from coterie.core.resting import LONGEST_S
from coterie.fleet.agents import UNKNOWN, alike
from coterie.fleet.selectors import present_devices
from coterie_wire.conditions import Reason
from coterie_wire.updating import parts_of

State = AgentRollout.State
OWNERS = ("updates.off", "updates.not_newer", "updates.no_root", "updates.otherwise_installed", "updates.no_client")
"""Refusals that say nothing of the release."""
FEWEST_ROUNDS = 5
"""Parts in rounds, before and after, below which they are not compared."""
LOOKS_BACK = timedelta(days=7)


def advance_agent_rollouts(*, now: datetime) -> float:
    """All that run, in all projects. Seconds for which there is none."""
    running = list(AgentRollout.objects.filter(state=State.RUNNING).values_list("pk", flat=True))
    for key in running:
        with transaction.atomic():
            rollout = AgentRollout.objects.select_for_update(of=("self",)).get(pk=key)
            if rollout.state == State.RUNNING:
                _advance(rollout, now)
    return 0.0 if running else LONGEST_S


def _advance(rollout: AgentRollout, now: datetime) -> None:
    able, left_out = _ask(rollout, now)
    counted = _by_state(rollout)
    failures, example = _failures(rollout, now)
    tried = counted["installed"] + counted["failed"] + counted["refused"]
    figures = {"devices": able, "failures": failures, "left_out": left_out, **counted}
    if figures != rollout.figures:
        rollout.figures = figures
        rollout.save(update_fields=["figures"])
        tell_consoles("agent_rollouts")
    why = reasons.failing(failures=failures, tried=tried, example=example) if failures else None
    if why is None or failures <= rollout.most_failures * tried:
        why = _why_worse(rollout)
    if why is not None:
        end(rollout, State.ROLLED_BACK, reason=why, now=now)
    elif not counted.total():
        STEPS.explain(rollout, reasons.nobody(sum(left_out.values())))
    elif not _has_held(rollout, counted, now):
        reason = reasons.watching(share=rollout.share(), asked=counted.total(), installed=counted["installed"])
        STEPS.explain(rollout, reason)
    elif rollout.phase + 1 < len(rollout.phases):
        reason = reasons.watching(
            share=rollout.phases[rollout.phase + 1], asked=counted.total(), installed=counted["installed"]
        )
        STEPS.take(rollout, State.RUNNING, reason=reason, phase=rollout.phase + 1, phase_since=now)
    else:
        end(rollout, State.DONE, reason=reasons.held(installed=counted["installed"]), now=now)


def _ask(rollout: AgentRollout, now: datetime) -> tuple[int, dict[str, int]]:
    """Ask as many devices as the phase wants; how many can be asked in all, and how many others cannot, by code."""
    free: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    others = agents_not_asked(rollout)
    for version, refuses, devices in alike(others):
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
        DeviceUpdate(rollout=rollout, device_id=key, former=agent, asked_at=now, changed_at=now)
        for key, agent in chosen
    ]
    DeviceUpdate.objects.bulk_create(updates, batch_size=500)
    wake_devices(str(update.device_id) for update in updates)


def _place(rollout: AgentRollout, device: UUID) -> bytes:
    """Where a device stands in the order in which they are asked, which nobody can choose."""
    return hashlib.sha256(rollout.pk.bytes + device.bytes).digest()


def _why_unfit(installed: str, version: str) -> str:
    """Why a device whose agent takes updates does not take this one, as a code; blank: it does."""
    try:
        is_older = parts_of(installed) < parts_of(version)
    except ValueError:
        return UNKNOWN
    return "" if is_older else "updates.not_newer"


def _failures(rollout: AgentRollout, now: datetime) -> tuple[int, str]:
    """Devices that could not use it, went back by themselves, or have fallen silent with it; and why the first."""
    updates = rollout.updates.order_by("changed_at")
    refused = updates.filter(Q(state="failed") | Q(state="refused") & ~Q(reason_code__in=OWNERS))
    silent = _silent(updates, now)
    first = refused.first()
    example = first.reason_sentence if first is not None else "it has not checked in since"
    return refused.count() + silent.count(), example


def _silent(updates: QuerySet[DeviceUpdate], now: datetime) -> QuerySet[DeviceUpdate]:
    """Those that have it and do not check in any more when they are asked to."""
    present = present_devices(now=now).order_by().values("pk")
    return updates.filter(state="installed", device__state="enrolled").exclude(device__in=present)


def _why_worse(rollout: AgentRollout) -> Reason | None:
    """Whether devices fail more in rounds than they did; each is compared with itself."""
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


def _has_held(rollout: AgentRollout, counted: Counter[str], now: datetime) -> bool:
    """Whether the phase has been watched long enough, and somebody has the release."""
    return counted["installed"] > 0 and now >= rollout.phase_since + timedelta(seconds=rollout.hold_s)
