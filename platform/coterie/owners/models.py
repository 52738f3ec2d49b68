"""Forgotten devices, each with the receipt of what was removed, and lineages that are rebuilt without them.

Forgetting goes asked → removing → done, a rebuild asked → repeating → retiring → done. What was asked is never lost:
each step is one transaction that may be done again, and whoever is killed leaves it to the next sweep.
"""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.lease import Leased
from coterie.core.separation import Separated
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.registry.models import Blob, ModelVersion


class Forgetting(Stateful, Separated):
    """One device, which its owner or an operator had forgotten."""

    project_path = "device__project"

    class State(models.TextChoices):
        """What it waits for."""

        ASKED = "asked"
        """The end of rounds in whose sums the device is; its rows are removed then."""
        REMOVING = "removing"
        """The removal of its files, and then the lineages whose plans promise to be without it."""
        DONE = "done"

    class By(models.TextChoices):
        """Who asked that a device be forgotten."""

        OWNER = "owner"
        OPERATOR = "operator"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    """Number of the receipt, which is the right to read it."""
    device = models.OneToOneField(Device, on_delete=models.PROTECT, related_name="forgetting")
    asked_by = models.CharField(max_length=10, choices=By.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.ASKED)
    asked_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    taken_out = models.PositiveIntegerField(default=0, editable=False)
    """Number of updates that were taken out of rounds before they were merged."""
    removed = models.JSONField(default=dict, editable=False)
    """By section of the export, how many rows were removed."""
    holds = models.JSONField(default=list, editable=False)
    """Versions that contain its updates, oldest first: a list of `coterie_wire.owning.HoldsUpdate`."""
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


class Rebuild(Stateful, Leased, Separated):
    """A lineage that is rebuilt without a device that was forgotten, because a plan has promised it."""

    project_path = "federation__project"

    class State(models.TextChoices):
        """How far it is."""

        ASKED = "asked"
        """What has to be repeated is found next."""
        REPEATING = "repeating"
        """Merges are repeated, one after another."""
        RETIRING = "retiring"
        """A version without the device is in use; the parameters of those that hold it are being removed."""
        DONE = "done"

    BEFORE_USE = ("asked", "repeating")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    forgetting = models.ForeignKey(Forgetting, on_delete=models.PROTECT, related_name="rebuilds")
    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="rebuilds")
    state = models.CharField(max_length=10, choices=State.choices, default=State.ASKED)
    promise = models.JSONField(editable=False)
    """The kind of the plan's slot `forgetting`, as the plan wrote it."""
    held = models.JSONField(editable=False)
    """Merges that counted an update of the device, by their keys."""
    without = models.JSONField(default=list, editable=False)
    """All rebuilds of the federation that were asked for when this one began: their devices were gone by then."""
    base = models.ForeignKey(ModelVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The version with which it begins."""
    merges = models.JSONField(default=list, editable=False)
    """Merges that have been repeated, in their order, by their keys."""
    to_repeat = models.PositiveIntegerField(default=0)
    """Merges to be repeated, all together; 0: rounds begin again from `base`."""
    restart_code = models.CharField(max_length=64, blank=True)
    restart_sentence = models.CharField(max_length=400, blank=True)
    """Why merges were not repeated although the plan has promised that; blank: they were, or it has not."""
    parameters = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """Parameters of the merges repeated so far; None: those of `base`."""
    server_state = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    residual = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    metrics = models.JSONField(default=dict, editable=False)
    """Metrics of these parameters, each a `Metric`."""
    result_version = models.OneToOneField(
        ModelVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="rebuilt_by"
    )
    """The version without the device that was put to use; None: none was needed, or none is in use yet."""
    retired = models.PositiveIntegerField(default=0)
    """Number of versions that contain the device, whose parameters were removed."""
    retired_bytes = models.PositiveBigIntegerField(default=0)
    elsewhere = models.PositiveIntegerField(default=0)
    """Number of descendants of such versions in other lineages, which stay."""
    asked_at = models.DateTimeField()
    postponed_until = models.DateTimeField(null=True, blank=True)
    """No worker begins before this time, because the last attempt failed."""
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-asked_at", "id"]
        indexes = [models.Index(fields=["state"], condition=~Q(state="done"), name="unfinished_rebuild")]
        constraints = [
            models.UniqueConstraint(fields=["forgetting", "federation"], name="one_rebuild_a_federation"),
            models.CheckConstraint(
                condition=Q(state__in=["asked", "repeating", "retiring", "done"]), name="rebuild_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state="done", finished_at__isnull=False) | (~Q(state="done") & Q(finished_at=None)),
                name="done_rebuild_has_its_end",
            ),
            models.CheckConstraint(
                condition=~Q(state="repeating") | Q(base__isnull=False), name="repeating_rebuild_has_its_base"
            ),
        ]

    def __str__(self) -> str:
        return f"rebuild of {self.federation}"
