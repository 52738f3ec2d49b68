"""The number of present devices, counted periodically instead of at each check-in, and the interval of check-ins."""

from datetime import datetime

from django.conf import settings

from coterie.core.resting import unremarkable
from coterie.fleet.models import FleetSize
from coterie.fleet.selectors import present_devices


def count_devices(*, now: datetime) -> None:
    """Count the devices that are present."""
    present = present_devices(now=now).order_by().count()
    with unremarkable():
        FleetSize.objects.update_or_create(defaults={"present": present, "at": now})


def latest_count() -> int:
    """The number of present devices at the last count."""
    return FleetSize.objects.order_by().values_list("present", flat=True).first() or 0


def interval_s(shortest_s: float, *, devices: int) -> float:
    """Seconds between two check-ins of each of `devices` devices, so that the platform can answer them all."""
    return max(shortest_s, float(devices) / settings.CHECK_INS_PER_SECOND)
