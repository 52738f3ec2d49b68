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


def finished_federation_of(device: Device) -> Federation | None:
    """The youngest finished federation that the device belonged to: its model is what the device has of it."""
    finished = Federation.objects.filter(state=Federation.State.FINISHED, device_tag__in=["", *device.tags])
    return finished.order_by("-created_at").first()


def federations_of(device: Device) -> QuerySet[Federation]:
    """The running and paused federations that the device belongs to, oldest first."""
    return Federation.objects.filter(
        state__in=(Federation.State.RUNNING, Federation.State.PAUSED), device_tag__in=["", *device.tags]
    ).select_related("pair", "held_out")
