"""Charges are recorded before anything is released; budgets are set by operators."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from coterie.audit.recording import audited
from coterie.core.durable import AT_ONCE
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.privacy.accounting import cost_of, most_of, releases_left
from coterie.privacy.models import Account, Budget, Charge
from coterie.privacy.selectors import limit_of, limits_of, spent_by
from coterie_learning.privacy import Spend


@transaction.atomic
def spend(
    *, release: str, federation: Federation, spent: Spend, devices: Sequence[UUID], now: datetime
) -> frozenset[UUID]:
    """Charge `devices` for a release, and return those that may be in it: budgets do not cover the others.

    Devices that were charged for this release before are not charged again. The caller releases nothing before this has
    been committed.
    """
    cost = cost_of(spent)
    most = limit_of(federation).mu2
    charged: set[UUID] = set()
    for begin in range(0, len(devices), AT_ONCE):
        charged |= _charge(release, federation, spent, cost, most, sorted(devices)[begin : begin + AT_ONCE], now)
    return frozenset(charged)


def _charge(
    release: str,
    federation: Federation,
    spent: Spend,
    cost: float,
    most: float,
    devices: Sequence[UUID],
    now: datetime,
) -> set[UUID]:
    held = Device.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=devices).order_by("pk")
    list(held.values_list("pk"))  # federations that charge the same device wait for one another here
    before = set(Charge.objects.filter(release=release, device__in=devices).values_list("device_id", flat=True))
    own, (here, everywhere) = limits_of(devices), spent_by(devices, federation)
    paying = [
        device
        for device in devices
        if device not in before
        and releases_left(most, here.get(device, 0.0), cost)
        and releases_left(own[device], everywhere.get(device, 0.0), cost)
    ]
    Account.objects.filter(federation=federation, device__in=paying).update(
        mu2=F("mu2") + cost, releases=F("releases") + 1
    )
    Account.objects.bulk_create(
        Account(federation=federation, device_id=device, mu2=cost, releases=1)
        for device in paying
        if device not in here
    )
    Charge.objects.bulk_create(
        Charge(
            release=release,
            device_id=device,
            federation=federation,
            noise_multiplier=spent.noise_multiplier,
            participations=spent.participations,
            mu2=cost,
            total=here.get(device, 0.0) + cost,
            at=now,
        )
        for device in paying
    )
    return before | set(paying)


@audited("privacy.change_federation_budget", subject=lambda given: _found(federation=given["federation"]))
def change_federation_budget(*, federation: Federation, epsilon: float, delta: float, now: datetime) -> None:
    """Set the federation's budget for each of its devices, from the next release on."""
    _change(federation, None, epsilon, delta, now)


@audited("privacy.change_device_budget", subject=lambda given: _found(device=given["device"]))
def change_device_budget(*, device: Device, epsilon: float, delta: float, now: datetime) -> None:
    """Set the device's budget over all federations, from the next release on."""
    _change(None, device, epsilon, delta, now)


def _found(**owner: object) -> Budget | None:
    return Budget.objects.filter(**owner).first()


def _change(federation: Federation | None, device: Device | None, epsilon: float, delta: float, now: datetime) -> None:
    terms = {"epsilon": epsilon, "delta": delta, "mu2": most_of(epsilon, delta), "changed_at": now}
    Budget.objects.update_or_create(federation=federation, device=device, defaults=terms)
