"""A request for a device's log, and the lines that the device has sent.

A request goes asked → allowed → delivered, or asked → refused; an operator may cancel it before, and it expires. Every
step is one compare-and-set on its row.
"""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.separation import Separated
from coterie.fleet.models import Device
from coterie_wire.device_log import LONGEST_HOURS, MAX_TEXT, MAX_WHY


class DeviceLog(Stateful, Separated):
    """An operator's request for a device's log of some hours."""

    project_path = "device__project"

    class State(models.TextChoices):
        """How far it is."""

        ASKED = "asked"
        """The device, or its owner, has not decided yet."""
        ALLOWED = "allowed"
        """Its owner allows it; the lines are on their way."""
        REFUSED = "refused"
        DELIVERED = "delivered"
        EXPIRED = "expired"
        """The request was not answered in time, or the device is no longer in the fleet."""
        CANCELLED = "cancelled"

    OPEN = ("asked", "allowed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="logs")
    hours = models.PositiveSmallIntegerField()
    """The number of hours before the delivery."""
    why = models.CharField(max_length=MAX_WHY, blank=True)
    """What it is needed for; the device's owner reads it."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.ASKED)
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    """When it expires."""
    allowed_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    line_count = models.PositiveIntegerField(default=0)
    """Lines that came; they are removed after a while."""
    left_out = models.PositiveBigIntegerField(default=0)
    """Older lines of those hours that the device has left out, as a delivery is bounded."""
    size_bytes = models.PositiveIntegerField(default=0)
    """Size of the lines that came, as JSON."""
    keep_until = models.DateTimeField(null=True, blank=True)
    """When the lines that came are removed."""

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["asked", "allowed", "refused", "delivered", "expired", "cancelled"]),
                name="device_log_state_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="delivered") | Q(keep_until__isnull=False), name="delivered_device_log_has_an_end"
            ),
            models.CheckConstraint(condition=Q(hours__range=(1, LONGEST_HOURS)), name="device_log_hours_bounded"),
            models.UniqueConstraint(
                fields=["device"], condition=Q(state__in=["asked", "allowed"]), name="one_open_log_a_device"
            ),
        ]

    def __str__(self) -> str:
        return f"log of {self.device}"


class DeviceLogLine(Separated):
    """A line that a device has sent."""

    project_path = "log__device__project"

    class Level(models.TextChoices):
        """How serious it is."""

        INFO = "info"
        WARNING = "warning"
        ERROR = "error"

    log = models.ForeignKey(DeviceLog, on_delete=models.CASCADE, related_name="lines")
    at = models.DateTimeField()
    """By the device's clock."""
    level = models.CharField(max_length=7, choices=Level.choices)
    source = models.CharField(max_length=100)
    text = models.CharField(max_length=MAX_TEXT)

    class Meta:
        ordering = ["log", "id"]

    def __str__(self) -> str:
        return f"line {self.pk} of {self.log}"
