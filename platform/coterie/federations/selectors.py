"""What is known of federations."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from coterie.federations.models import Federation, Group, Membership
from coterie.fleet.models import Device
from coterie.fleet.selectors import enrolled_devices, ready_devices
from coterie.registry.models import BASE
from coterie_learning.groups.one import One
from coterie_learning.plan import Plan


def members(federation: Federation) -> QuerySet[Device]:
    """The enrolled devices that belong to it."""
    return enrolled_devices(tag=federation.device_tag)


def ready_members(federation: Federation, *, now: datetime) -> QuerySet[Device]:
    """Its members that are present and would train now."""
    return ready_devices(now=now, tag=federation.device_tag)


def finished_federation_of(device: Device) -> Federation | None:
    """The youngest finished federation that the device belonged to: its model is what the device has of it."""
    finished = Federation.objects.filter(state=Federation.State.FINISHED, device_tag__in=["", *device.tags])
    return finished.order_by("-created_at").first()


def federations_of(device: Device) -> QuerySet[Federation]:
    """The running and paused federations that the device belongs to, oldest first."""
    return Federation.objects.filter(
        state__in=(Federation.State.RUNNING, Federation.State.PAUSED), device_tag__in=["", *device.tags]
    ).select_related("pair", "held_out")


def followed_federation(device: Device) -> Federation | None:
    """The one whose model the device has: of those that go on the oldest, else the youngest that has finished."""
    return federations_of(device).first() or finished_federation_of(device)


def line_of(federation: Federation, device: Device) -> str:
    """The line of versions that serves the device: its group's name, or blank for the base."""
    return lines_of(federation, [device.pk], plan=federation.parsed_plan()).get(device.pk, BASE)


def lines_of(federation: Federation, devices: Sequence[UUID], *, plan: Plan) -> Mapping[UUID, str]:
    """The group's name of each of `devices` that has one now; none under a plan without groups."""
    if isinstance(plan.groups, One):
        return {}
    memberships = Membership.objects.filter(federation=federation, device__in=devices, until=None)
    return dict(memberships.values_list("device_id", "group__name"))


def current_groups(federation: Federation) -> QuerySet[Group]:
    """The groups that have members, by name."""
    return federation.groups.filter(until=None).order_by("name")
