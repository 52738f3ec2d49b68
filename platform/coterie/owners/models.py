"""Devices that were forgotten, each with the receipt of what was removed.

Forgetting goes asked → removing → done. What was asked is never lost: each step is one transaction that may be done
again, and whoever is killed leaves it to the next sweep.
"""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.separation import Separated
from coterie.fleet.models import Device


class Forgetting(Stateful, Separated):
    """One device, which its owner or an operator had forgotten."""

    project_path = "device__project"

    class State(models.TextChoices):
        """What it waits for."""

        ASKED = "asked"
        """The end of rounds in whose sums the device is; its rows are removed then."""
        REMOVING = "removing"
        """The removal of its files."""
        DONE = "done"

    class By(models.TextChoices):
        """Who asked."""

        OWNER = "owner"
        OPERATOR = "operator"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    """Number of the receipt: whoever knows it may read it."""
    device = models.OneToOneField(Device, on_delete=models.PROTECT, related_name="forgetting")
    asked_by = models.CharField(max_length=10, choices=By.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.ASKED)
    asked_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    taken_out = models.PositiveIntegerField(default=0, editable=False)
    """Updates that were taken out of rounds before these merged them."""
    removed = models.JSONField(default=dict, editable=False)
    """By section of the export, how many rows were removed."""
    holds = models.JSONField(default=list, editable=False)
    """Versions known to hold its updates, oldest first: a list of `coterie_wire.owning.HoldsUpdate`."""
    files = models.JSONField(default=list, editable=False)
    """What is still to be removed: a list of `coterie.owners.files.Leftover`."""

    class Meta:
        ordering = ["-asked_at"]
        indexes = [models.Index(fields=["state"], condition=~Q(state="done"), name="unfinished_forgetting")]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=["asked", "removing", "done"]), name="forgetting_state_known"),
            models.CheckConstraint(
                condition=Q(state="done", finished_at__isnull=False) | (~Q(state="done") & Q(finished_at=None)),
                name="done_forgetting_has_its_end",
            ),
        ]

    def __str__(self) -> str:
        return f"forgetting of {self.device}"
