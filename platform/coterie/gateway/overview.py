"""The data of the fleet's page, gathered from the apps."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Prefetch

from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.fleet.presence import is_on_time
from coterie.fleet.selectors import enrolled_devices, ready_devices, why_not_ready
from coterie.rounds.models import Assignment, Round
from coterie_wire.conditions import Reason

DEVICES_SHOWN = 200
ROUNDS_SHOWN = 8


@dataclass(frozen=True)
class DeviceLine:
    """One device."""

    name: str
    state: str
    """``ready``, ``waiting``, ``absent``, or the stage of its assignment."""
    reasons: tuple[Reason, ...]
    progress: float | None
    """Share of the steps of its assignment that are done; None without one."""


@dataclass(frozen=True)
class FederationBlock:
    """One federation and its latest rounds."""

    federation: Federation
    active: Round | None
    rounds: tuple[Round, ...]


@dataclass(frozen=True)
class Overview:
    """The fleet at one moment."""

    devices: tuple[DeviceLine, ...]
    devices_total: int
    present: int
    ready: int
    federations: tuple[FederationBlock, ...]


def overview(*, now: datetime) -> Overview:
    """The fleet at `now`, as far as it fits a page."""
    live = Assignment.objects.filter(state__in=Assignment.LIVE)
    fleet = enrolled_devices()
    devices = fleet.order_by("name").prefetch_related(Prefetch("assignments", queryset=live, to_attr="live"))
    present = fleet.filter(is_on_time(now))
    return Overview(
        devices=tuple(_line(device, now) for device in devices[:DEVICES_SHOWN]),
        devices_total=fleet.count(),
        present=present.count(),
        ready=ready_devices(now=now).count(),
        federations=tuple(_block(federation) for federation in Federation.objects.select_related("pair")),
    )


def _line(device: Device, now: datetime) -> DeviceLine:
    reasons = why_not_ready(device, now=now)
    assignments: list[Assignment] = getattr(device, "live")  # noqa: B009 - set by the prefetch
    if not device.is_present(now):
        return DeviceLine(device.name, "absent", reasons, None)
    if not assignments:
        return DeviceLine(device.name, "waiting" if reasons else "ready", reasons, None)
    assignment = assignments[0]
    done = assignment.steps_done / assignment.steps_total if assignment.steps_total else 0.0
    return DeviceLine(device.name, assignment.stage or "invited", reasons, done)


def _block(federation: Federation) -> FederationBlock:
    rounds = tuple(federation.rounds.select_related("merge").order_by("-number")[:ROUNDS_SHOWN])
    active = next((held for held in rounds if held.state in Round.ACTIVE), None)
    return FederationBlock(federation, active, tuple(held for held in rounds if held is not active))
