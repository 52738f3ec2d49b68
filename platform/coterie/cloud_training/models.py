"""Long work in the cloud as durable rows; workers hold them by a lease."""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.figured import Figured
from coterie.core.lease import Leased
from coterie.core.separation import Separated
from coterie.federations.models import Federation
from coterie.registry.models import Blob, Dataset, ModelPair, ModelVersion


class TrainingJob(Stateful, Leased, Figured, Separated):
    """One piece of work on a pair; figures have those that simulate."""

    project_path = "pair__project"

    class Kind(models.TextChoices):
        """What the job trains."""

        PREFLIGHT = "preflight"
        """Compile the device model and try both models."""
        BOOTSTRAP = "bootstrap"
        """Train the cloud model on an initial data set (Colla stage 1)."""
        DISTILL = "distill"
        """Make the first device model from the cloud model (Colla stage 2)."""
        QUANTISE = "quantise"
        """Make and measure an int8 form of a version of the device model."""
        SIMULATION = "simulation"
        """Try a plan of a federation on a simulated fleet."""

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
    version = models.ForeignKey(ModelVersion, null=True, blank=True, on_delete=models.CASCADE, related_name="jobs")
    """The version to quantise, or that the first simulated round starts from (none: the pair's initial parameters)."""
    federation = models.ForeignKey(
        Federation, null=True, blank=True, on_delete=models.CASCADE, related_name="simulations"
    )
    """Whose plan is simulated; none for the other kinds."""
    fleet = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """A fleet's history to simulate, as `coterie.twin.trace` writes it; none: a shipped profile is used."""
    options = models.JSONField(default=dict, blank=True)
    """A struct of `coterie.cloud_training.options`."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    progress = models.FloatField(default=0.0)
    """Share of the work done, 0 to 1."""
    progress_sentence = models.CharField(max_length=200, blank=True)
    left_s = models.FloatField(null=True, blank=True)
    """Remaining seconds that it expects to take; none: not known, or it has ended."""
    found = models.JSONField(null=True, blank=True)
    """The results of a simulation, a `coterie.cloud.simulation_job.SimulationResult`; none for the other kinds."""
    unconfined = models.CharField(max_length=200, blank=True)
    """Confinements that its process ran without, because the system does not offer them; blank: none."""
    curve = models.JSONField(default=list, blank=True)
    """A `coterie.cloud_training.curve.Point` for each epoch of the cloud model's training."""
    advanced_in = models.PositiveIntegerField(default=0)
    """The attempt that last wrote a checkpoint; 0: none has. A job is hopeless by the number of attempts since then."""
    launcher = models.CharField(max_length=20, blank=True)
    """The last launcher of its workers, as hosts name it; blank: none, or it is one process."""
    launcher_state = models.CharField(max_length=10, blank=True)
    """The workers' status there: waits, runs or over; blank: not known."""
    launcher_sentence = models.CharField(max_length=200, blank=True)
    """Why they wait or have ended, in the scheduler's words; blank: they run."""
    rehearsed = models.BooleanField(default=False)
    """Whether one process has tried the training of a large gang."""
    placement = models.PositiveIntegerField(default=0)
    """Number of its gang's placement, under which its worker was requested."""
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
                fields=["pair"],
                condition=Q(state__in=["queued", "running"]) & ~Q(kind="simulation"),
                name="one_active_job_a_pair",
            ),
            # It does not change the pair, so that both may run.
            models.UniqueConstraint(
                fields=["federation"],
                condition=Q(state__in=["queued", "running"], kind="simulation"),
                name="one_active_simulation_a_federation",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "succeeded", "failed", "cancelled"]), name="job_state_known"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["preflight", "bootstrap", "distill", "quantise", "simulation"]),
                name="job_kind_known",
            ),
            models.CheckConstraint(condition=Q(progress__gte=0, progress__lte=1), name="progress_is_a_share"),
            models.CheckConstraint(
                condition=Q(kind__in=["preflight", "simulation"]) | Q(dataset__isnull=False), name="training_has_data"
            ),
            models.CheckConstraint(
                condition=Q(kind="quantise", version__isnull=False)
                | Q(kind="simulation")
                | (~Q(kind__in=["quantise", "simulation"]) & Q(version__isnull=True)),
                name="quantised_version",
            ),
            models.CheckConstraint(
                condition=Q(kind="simulation", federation__isnull=False)
                | (~Q(kind="simulation") & Q(federation=None, fleet=None, found=None)),
                name="simulated_federation",
            ),
            models.CheckConstraint(
                condition=~Q(kind="simulation", state="succeeded") | Q(found__isnull=False), name="simulation_found"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.pair}"


class JobLine(Separated):
    """A line of a job's log."""

    project_path = "job__pair__project"

    job = models.ForeignKey(TrainingJob, on_delete=models.CASCADE, related_name="lines")
    at = models.DateTimeField()
    text = models.CharField(max_length=400)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["job", "id"], name="line_of_job")]

    def __str__(self) -> str:
        return self.text
