"""What is known of federations."""

from datetime import datetime

from django.db.models import QuerySet

from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.fleet.selectors import enrolled_devices, ready_devices


def members(federation: Federation) -> QuerySet[Device]:
    """The enrolled devices that belong to it."""
    return enrolled_devices(tag=federation.device_tag)


def ready_members(federation: Federation, *, now: datetime) -> QuerySet[Device]:
    """Its members that are present and would train now."""
    return ready_devices(now=now, tag=federation.device_tag)


def federations_of(device: Device) -> QuerySet[Federation]:
    """The running and paused federations that the device belongs to, oldest first."""
    return Federation.objects.filter(
        state__in=(Federation.State.RUNNING, Federation.State.PAUSED), device_tag__in=["", *device.tags]
    ).select_related("pair", "held_out")
