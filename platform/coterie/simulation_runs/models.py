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
"""Characters of a name that are kept."""


class SimulatedFleet(ProjectRoot):
    """What the runs of a sweep have in common: a model, samples, who has which, and how devices are."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    file = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    """As `coterie.simulation.fleet.shared` writes it."""
    pair_name = models.CharField(max_length=MAX_NAME, blank=True, db_default="")
    data_name = models.CharField(max_length=MAX_NAME, blank=True, db_default="")
    """What its owner calls the model and the samples; blank: an older release took it."""
    devices = models.PositiveIntegerField(null=True, blank=True)
    """None: as many as the split makes."""
    created_at = models.DateTimeField()
    used_at = models.DateTimeField()
    """When runs were last asked for, or performed."""

    class Meta:
        ordering = ["-created_at"]
        constraints = [models.UniqueConstraint(fields=["project", "file"], name="a_fleet_is_kept_once_in_a_project")]

    def __str__(self) -> str:
        return f"simulated fleet {self.pk}"


class SimulationRun(Stateful, Leased, Postponed, Figured, Separated):
    """One run: a plan, a seed and some rounds. The same run of the same fleet is one row."""

    project_path = "fleet__project"

    class State(models.TextChoices):
        """How far it is."""

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
    """A `coterie.cloud.fleet_run_job.WantedRun`."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    progress = models.FloatField(default=0.0)
    """Share of the rounds held, 0 to 1."""
    left_s = models.FloatField(null=True, blank=True)
    """Seconds that it expects to take still; none: it cannot tell yet, or does not run."""
    outcome = models.TextField(blank=True)
    """JSON as it was written: a column of JSON would order its fields anew, and the bytes would be others."""
    created_at = models.DateTimeField()
    hinted_at = models.DateTimeField()
    """When workers were last told that it waits."""
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
