"""When the idle devices of a large fleet check in next: Django's side of `coterie_learning.pace.steer`.

A small fleet, whose devices can all check in at the fixed intervals of `coterie.rounds.intervals`, is not steered.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

import msgspec
from django.conf import settings
from django.db.models import Q

from coterie.federations.models import Federation
from coterie.federations.selectors import present_members
from coterie.fleet.counting import latest_count
from coterie.fleet.kinds import is_of_first_release
from coterie.fleet.models import Device
from coterie.rounds.intervals import idle_interval_s, is_steered
from coterie.rounds.models import Steering
from coterie.rounds.selectors import able_members
from coterie.rounds.surroundings import Surroundings
from coterie_learning.pace import View
from coterie_learning.pace.steer import FOR_GOALS, Pacing, Population, Shares, meeting_window, spread_window, steer
from coterie_learning.plan import Plan
from coterie_wire.messages import Directive

SELECTION = 0.5
"""Share of a round's time within which devices should have checked in; the rest is for training and uploading."""
PHASES = 1 << 20
"""Seconds after which the check-in times of federations coincide again."""


class Paces:
    """When devices that can be steered check in next, by federation."""

    def __init__(self, rows: Mapping[UUID | None, Steering], *, fleet: int) -> None:
        self._rows = rows
        others = rows.get(None)
        self._common_s = idle_interval_s(fleet=fleet) if others is None else others.interval_s

    def steered(
        self, directive: Directive, *, device: Device, federation: Federation | None, by_socket: bool, now: datetime
    ) -> Directive:
        """The directive of a device without an assignment, with the time of its next check-in.

        An agent of 0.1, which refuses unknown fields, is sent an interval only.
        """
        row = None if federation is None else self._rows.get(federation.pk)
        interval_s = self._common_s if row is None else row.interval_s
        if is_of_first_release(device):
            return msgspec.structs.replace(directive, check_in_s=interval_s)
        if row is None or not row.meets or by_socket:
            window = spread_window(interval_s)
        else:
            load = FOR_GOALS * settings.CHECK_INS_PER_SECOND
            phase = row.federation_id.int % PHASES if row.federation_id is not None else 0
            window = meeting_window(interval_s, devices=row.devices, load=load, phase=phase, now_s=now.timestamp())
        return msgspec.structs.replace(directive, check_in_s=interval_s, window=window)


def paces_of(surroundings: Iterable[Surroundings], *, fleet: int) -> Paces | None:
    """When the devices of `surroundings` check in next, in a fleet of `fleet` devices; None: it is not steered."""
    if not is_steered(fleet=fleet):
        return None
    followed = {own.followed.pk for own in surroundings if own.followed is not None}
    rows = Steering.objects.filter(Q(federation__in=followed) | Q(federation=None)).order_by()
    return Paces({row.federation_id: row for row in rows}, fleet=fleet)


def steer_fleet(*, now: datetime) -> None:
    """Record how many devices of each federation are eligible now, and compute when they check in from now on."""
    fleet = latest_count()
    if not is_steered(fleet=fleet):
        return
    ahead_s = now.timestamp() + idle_interval_s(fleet=fleet)
    before = {row.federation_id: row for row in Steering.objects.all()}
    shares: list[Shares] = []
    populations: list[Population] = []
    running = list(Federation.objects.filter(state=Federation.State.RUNNING))
    for federation in running:
        plan = federation.parsed_plan()
        devices = present_members(federation, now=now).order_by().count()
        row = before.get(federation.pk)
        observed = Shares() if row is None or not row.shares else Shares(tuple(row.shares))
        if devices:
            able = able_members(federation, plan, now=now).order_by().count()
            observed = observed.noted(able / devices, at_s=now.timestamp())
        shares.append(observed)
        populations.append(_population(plan, devices=devices, eligible=observed.at(ahead_s)))
    paces, common_s = steer(populations, devices=fleet, load=settings.CHECK_INS_PER_SECOND)
    for federation, observed, population, pace in zip(running, shares, populations, paces, strict=True):
        _store(federation, pace, devices=population.devices, shares=observed, now=now)
    Steering.objects.exclude(federation=None).exclude(federation__in=running).delete()
    _store(None, Pacing(common_s, False), devices=fleet, shares=Shares(()), now=now)


def _population(plan: Plan, *, devices: int, eligible: float) -> Population:
    """A federation's members, and how many of them its rounds want and by when."""
    if not plan.pace.holds_rounds():
        return Population(devices, eligible, goal=0, selection_s=0.0)
    wanted = plan.pace.decide(View(live=0, delivered=0, elapsed_s=0.0)).devices
    return Population(devices, eligible, goal=wanted, selection_s=SELECTION * plan.pace.deadline_after_s())


def _store(federation: Federation | None, pace: Pacing, *, devices: int, shares: Shares, now: datetime) -> None:
    values = {
        "devices": devices,
        "shares": list(shares.by_hour),
        "interval_s": pace.interval_s,
        "meets": pace.meets,
        "at": now,
    }
    Steering.objects.update_or_create(federation=federation, defaults=values)
