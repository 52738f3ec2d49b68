"""A repository with one release, and devices whose agents may be replaced."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.cache import cache
from pytest_django import Settings

from coterie.agent_rollouts import reporting
from coterie.agent_rollouts.advancing import advance_agent_rollouts
from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.agent_rollouts.selectors import updates_of
from coterie.agent_rollouts.services import start_agent_rollout
from coterie.fleet.agents import add_agents
from coterie.fleet.models import Device
from coterie.releases.repository import KeyFolder, Repository
from coterie.releases.served import ROOT_KEY
from coterie_wire.conditions import Reason
from coterie_wire.messages import Capabilities
from coterie_wire.structs import from_values
from coterie_wire.updating import AgentUpdate, ReportUpdate, UpdateOutcome, agent_wheel
from tests.coterie.world import make_device

NOW = datetime.now(UTC)
"""Releases expire by the true clock."""
TERMS: dict[str, Any] = {"phases": [0.25, 1.0], "hold_s": 100.0, "probation_s": 60.0, "most_failures": 0.2}
MACHINE = {"cores": 4, "memory_bytes": 1 << 30, "machine": "aarch64 Linux"}
CRASHED = Reason("updates.crashed", "it ended by itself")


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def repository(root: Path, *, now: datetime = NOW) -> Repository:
    """With release 9.0.0."""
    keys = KeyFolder(root / "keys", b"open sesame")
    made = Repository(root / "repository")
    made.create(keys, root_keys=1, threshold=1, now=now)
    wheel = root / agent_wheel("9.0.0")
    wheel.write_bytes(b"a wheel")
    made.add([wheel], keys, now=now)
    return made


def published_in(directory: Path, settings: Settings) -> None:
    """Have the platform find its repository of releases in a directory, which may have none."""
    store = {"BACKEND": "coterie.storage.files.DurableFileSystemStorage", "OPTIONS": {"location": directory}}
    settings.STORAGES = {**settings.STORAGES, "releases": store}
    cache.delete(ROOT_KEY)


def device(name: str, *, agent: str = "0.2.0", updates: object = (), tags: tuple[str, ...] = ()) -> Device:
    """One that takes updates; `updates`: what else its agent says of that."""
    row = make_device(name, tags=tags)
    row.capabilities = {"agent": agent, "updates": {} if updates == () else updates}
    row.present_until = later(3600)
    row.save()
    add_agents([(row, from_values({**MACHINE, **row.capabilities}, Capabilities))])
    return row


def start(**terms: object) -> AgentRollout:
    return start_agent_rollout(version="9.0.0", now=NOW, **{**TERMS, **terms})


def advance(rollout: AgentRollout, seconds: float = 0) -> AgentRollout:
    """As far as it goes then."""
    runs = AgentRollout.objects.filter(state=AgentRollout.State.RUNNING).exists()
    assert (advance_agent_rollouts(now=later(seconds)) == 0.0) is runs, "it has moments of its own"
    rollout.refresh_from_db()
    return rollout


def asked(rollout: AgentRollout) -> list[Device]:
    return [update.device for update in rollout.updates.select_related("device")]


def told(row: Device) -> AgentUpdate | None:
    """What it hears when it checks in."""
    return updates_of([row]).get(row.pk)


def report(
    rollout: AgentRollout, row: Device, outcome: UpdateOutcome, reason: Reason | None = None, *, seconds: float = 1
) -> DeviceUpdate:
    update = DeviceUpdate.objects.get(rollout=rollout, device=row)
    message = ReportUpdate(update=str(update.pk), outcome=outcome, reason=reason)
    reporting.record_update(device=row, report=message, now=later(seconds))
    update.refresh_from_db()
    return update
