"""Long work in the cloud as durable rows; workers hold them by a lease."""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.lease import Leased
from coterie.registry.models import Dataset, ModelPair


class TrainingJob(Stateful, Leased):
    """One piece of work on a pair."""

    class Kind(models.TextChoices):
        """What is done."""

        PREFLIGHT = "preflight"
        """Compile the device model and try both models."""
        BOOTSTRAP = "bootstrap"
        """Train the cloud model on an initial data set (Colla stage 1)."""
        DISTILL = "distill"
        """Make the first device model from the cloud model (Colla stage 2)."""

    class State(models.TextChoices):
        """How far it is."""

        QUEUED = "queued"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    ACTIVE = ("queued", "running")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    pair = models.ForeignKey(ModelPair, on_delete=models.CASCADE, related_name="jobs")
    dataset = models.ForeignKey(Dataset, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    options = models.JSONField(default=dict, blank=True)
    """How to train: a `coterie.cloud_training.options.TrainingOptions`."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    progress = models.FloatField(default=0.0)
    """Share of the work done, 0 to 1."""
    progress_sentence = models.CharField(max_length=200, blank=True)
    unconfined = models.CharField(max_length=200, blank=True)
    """Confinements that its process ran without, because the system does not offer them; blank: none."""
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["state"], condition=Q(state__in=["queued", "running"]), name="active_job"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["pair"], condition=Q(state__in=["queued", "running"]), name="one_active_job_a_pair"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "succeeded", "failed", "cancelled"]), name="job_state_known"
            ),
            models.CheckConstraint(condition=Q(kind__in=["preflight", "bootstrap", "distill"]), name="job_kind_known"),
            models.CheckConstraint(condition=Q(progress__gte=0, progress__lte=1), name="progress_is_a_share"),
            models.CheckConstraint(condition=Q(kind="preflight") | Q(dataset__isnull=False), name="training_has_data"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.pair}"


class JobLine(models.Model):
    """A line of a job's log."""

    job = models.ForeignKey(TrainingJob, on_delete=models.CASCADE, related_name="lines")
    at = models.DateTimeField()
    text = models.CharField(max_length=400)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["job", "id"], name="line_of_job")]

    def __str__(self) -> str:
        return self.text
