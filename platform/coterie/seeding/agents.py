"""Releases of the agent: one that all devices have, one that was taken back, one that is on its way to a quarter."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from random import Random

from coterie.agent_rollouts import reasons
from coterie.agent_rollouts.advancing import advance_agent_rollouts
from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.core.durable import reason_columns
from coterie.core.rows import Row, insert_all, update_each
from coterie.fleet.agents import add_agents, change_agents
from coterie.fleet.models import Device
from coterie.seeding.devices import FORMER_AGENT
from coterie_wire.conditions import Reason
from coterie_wire.messages import Capabilities
from coterie_wire.structs import from_values
from coterie_wire.updating import WITHDRAWN

State, Part = AgentRollout.State, DeviceUpdate.State
NEXT_AGENT, BROKEN_AGENT, FIRST_AGENT = "0.3.0", "0.2.1", "0.1.0"
PHASES = [0.05, 0.25, 1.0]
CRASHED = Reason("updates.crashed", f"agent {NEXT_AGENT} has ended by itself 3 times")
LOST = Reason("updates.crashed", f"agent {BROKEN_AGENT} has ended by itself 3 times")
BACK = Reason(WITHDRAWN, "the platform has it go back to the agent before")
ASKS = Reason("updates.asks_owner", f"agent {NEXT_AGENT} waits for its owner's word")
AT_WORK = Reason("updates.at_work", f"agent {NEXT_AGENT} waits until the round has this device's work")
Outcome = tuple[DeviceUpdate.State, Reason | None]
OUTCOMES: Sequence[Outcome] = (
    *[(Part.INSTALLED, None)] * 3,
    (Part.WAITING, ASKS),
    *[(Part.INSTALLED, None)] * 4,
    (Part.FAILED, CRASHED),
    (Part.ASKED, None),
    *[(Part.INSTALLED, None)] * 7,
    (Part.WAITING, AT_WORK),
    *[(Part.INSTALLED, None)] * 7,
)
"""How devices are with a release, in turn."""


def roll_agents_out(devices: Sequence[Device], *, random: Random, now: datetime) -> None:
    """All three, and the agents that devices have by then."""
    enrolled = [device for device in devices if device.state == Device.State.ENROLLED]
    add_agents([(device, from_values(device.capabilities, Capabilities)) for device in enrolled])
    able = [device for device in enrolled if device.capabilities.get("updates") == {}]
    random.shuffle(able)
    _past(FORMER_AGENT, State.DONE, able, [(Part.INSTALLED, None)], now - timedelta(days=41))
    broken = [(Part.FAILED, LOST), (Part.RETURNED, BACK), (Part.RETURNED, BACK), (Part.RETURNED, BACK)]
    _past(BROKEN_AGENT, State.ROLLED_BACK, able[: math.ceil(PHASES[0] * len(able))], broken, now - timedelta(days=12))
    _under_way(able[: math.ceil(PHASES[1] * len(able))], now)
    advance_agent_rollouts(now=now)


def _past(
    version: str, state: AgentRollout.State, asked: Sequence[Device], outcomes: Sequence[Outcome], at: datetime
) -> None:
    """One that has ended as all of `asked` are in one of `outcomes`."""
    parts = _parts(asked, outcomes, former=FIRST_AGENT if version == FORMER_AGENT else FORMER_AGENT, at=at)
    counted = Counter(part.state for part in parts)
    failures = counted[Part.FAILED]
    reason = (
        reasons.completed(installed=counted[Part.INSTALLED])
        if state == State.DONE
        else reasons.failing(failures=failures, tried=len(parts), example=LOST.sentence)
    )
    rollout = _rollout(
        version,
        state=state,
        phase=len(PHASES) - 1 if state == State.DONE else 0,
        created_at=at,
        phase_since=at,
        ended_at=at + (timedelta(days=3) if state == State.DONE else timedelta(hours=2)),
        figures={"devices": len(asked), "failures": failures, "left_out": {}, **counted},
        **reason_columns(reason),
    )
    _insert(rollout, parts)


def _under_way(asked: Sequence[Device], now: datetime) -> None:
    """One in its second phase; the devices that have installed it say so."""
    at = now - timedelta(hours=5)
    rollout = _rollout(NEXT_AGENT, phase=1, created_at=now - timedelta(hours=29), phase_since=at)
    present = [device for device in asked if device.is_present(now)]
    absent = [device for device in asked if not device.is_present(now)]
    parts = _parts(present, OUTCOMES, former=FORMER_AGENT, at=at)
    parts += _parts(absent, [(Part.ASKED, None)], former=FORMER_AGENT, at=at)
    first = math.ceil(PHASES[0] / PHASES[1] * len(asked))
    for place, part in enumerate(parts):
        part.phase = int(place >= first)
    _insert(rollout, parts)
    having = [part.device for part in parts if part.state == Part.INSTALLED]
    for device in having:
        device.capabilities = {**device.capabilities, "agent": NEXT_AGENT}
    update_each(Device, ("capabilities",), [Row(device.pk, [device.capabilities]) for device in having], where={})
    change_agents([(device, from_values(device.capabilities, Capabilities)) for device in having])


def _rollout(version: str, **columns: object) -> AgentRollout:
    terms = {"phases": PHASES, "hold_s": 24 * 3600.0, "probation_s": 600.0, "most_failures": 0.25}
    return AgentRollout.objects.create(version=version, **terms, **columns)


def _parts(asked: Iterable[Device], outcomes: Sequence[Outcome], *, former: str, at: datetime) -> list[DeviceUpdate]:
    """Each device's part, some minutes after the one before, for two hours over and over."""
    parts = []
    for place, device in enumerate(asked):
        state, reason = outcomes[place % len(outcomes)]
        changed_at = at + timedelta(minutes=place * 7 % 120)
        part = DeviceUpdate(
            device=device, former=former, state=state, asked_at=at, changed_at=changed_at, **reason_columns(reason)
        )
        part.installed_at = changed_at if state in (Part.INSTALLED, Part.RETURNED) else None
        parts.append(part)
    return parts


def _insert(rollout: AgentRollout, parts: Sequence[DeviceUpdate]) -> None:
    for part in parts:
        part.rollout = rollout
    insert_all(parts)
