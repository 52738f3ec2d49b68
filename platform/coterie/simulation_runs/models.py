"""Runs of simulated fleets as durable rows; workers hold them by a lease."""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.figured import Figured
from coterie.core.lease import Leased
from coterie.core.postponing import Postponed
from coterie.core.separation import ProjectRoot, Separated
from coterie.registry.models import Blob

MAX_NAME = 150
"""Stored length of a name."""


class SimulatedFleet(ProjectRoot):
    """The common inputs of a sweep's runs: a model, samples, their distribution, and properties of devices."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    file = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    """In the format of `coterie.simulation.fleet.shared`."""
    pair_name = models.CharField(max_length=MAX_NAME, blank=True, db_default="")
    data_name = models.CharField(max_length=MAX_NAME, blank=True, db_default="")
    """The owner's names of the model and the samples; blank: stored by an older release."""
    devices = models.PositiveIntegerField(null=True, blank=True)
    """None: determined by the split."""
    created_at = models.DateTimeField()
    used_at = models.DateTimeField()
    """When runs were last requested or performed."""

    class Meta:
        ordering = ["-created_at"]
        constraints = [models.UniqueConstraint(fields=["project", "file"], name="a_fleet_is_kept_once_in_a_project")]

    def __str__(self) -> str:
        return f"simulated fleet {self.pk}"


class SimulationRun(Stateful, Leased, Postponed, Figured, Separated):
    """One run: a plan, a seed and a number of rounds. Equal runs of the same fleet are one row."""

    project_path = "fleet__project"

    class State(models.TextChoices):
        """The state of a run."""

        QUEUED = "queued"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    ACTIVE = ("queued", "running")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    fleet = models.ForeignKey(SimulatedFleet, on_delete=models.CASCADE, related_name="runs")
    key = models.CharField(max_length=64)
    """SHA-256 of `wanted` and of the release that performs it."""
    wanted = models.JSONField()
    """A `coterie.cloud.fleet_run_job.RunRequest`."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    progress = models.FloatField(default=0.0)
    """Share of the rounds held, 0 to 1."""
    left_s = models.FloatField(null=True, blank=True)
    """Expected seconds left; null: unknown yet, or not running."""
    outcome = models.TextField(blank=True)
    """JSON as written; a JSON column would reorder its fields and change the bytes."""
    created_at = models.DateTimeField()
    hinted_at = models.DateTimeField()
    """When workers were last notified that it waits."""
    started_at = models.DateTimeField(null=True, blank=True)
    """When a worker last took it."""
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["created_at", "id"]
        indexes = [
            models.Index(fields=["created_at", "id"], condition=Q(state__in=["queued", "running"]), name="active_run"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["fleet", "key"], name="a_run_is_asked_for_once"),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "succeeded", "failed", "cancelled"]),
                name="run_state_is_known",
            ),
            models.CheckConstraint(condition=Q(progress__gte=0, progress__lte=1), name="run_progress_is_a_share"),
            models.CheckConstraint(
                condition=Q(state="succeeded") & ~Q(outcome="") | ~Q(state="succeeded") & Q(outcome=""),
                name="run_that_succeeded_has_an_outcome",
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"
