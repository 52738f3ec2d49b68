"""Accepted updates, and the merges that make versions of them.

A merge goes from running to published or abandoned. Every step is one compare-and-set on its row, so that any number of
workers may try; one at a time works on it, under a lease.
"""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.lease import Leased
from coterie.core.postponing import Postponed
from coterie.core.separation import Separated
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.registry.models import ModelVersion
from coterie.secure_sums.models import SecureSum
from coterie_learning.plan import Plan, parse_plan


class Merge(Stateful, Leased, Postponed, Separated):
    """The merge of some updates into new versions; in synchronous rounds, of the updates of one cohort."""

    project_path = "federation__project"

    class State(models.TextChoices):
        """What it waits for."""

        RUNNING = "running"
        """A worker, or the end of its work."""
        PUBLISHED = "published"
        ABANDONED = "abandoned"

    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="merges")
    number = models.PositiveIntegerField()
    """The number of the round that requested it."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    reason_at = models.DateTimeField()
    """When its reason was last written."""
    plan = models.JSONField()
    """The plan that its updates were made under."""
    seed = models.PositiveBigIntegerField()
    """Seed of its random numbers."""
    base_version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="+")
    """The champion of the base's device model when its updates were requested; in asynchronous rounds, when it was."""
    result_version = models.OneToOneField(
        ModelVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="made_by"
    )
    """The resulting version of the base's device model."""
    secure_sum = models.OneToOneField(SecureSum, null=True, blank=True, on_delete=models.RESTRICT, related_name="merge")
    """What it merges instead of updates, where its plan uses secure aggregation."""
    fleet = models.PositiveIntegerField(null=True, blank=True)
    """Number of members of the federation when it was requested. None: not counted."""
    metrics = models.JSONField(default=dict, blank=True)
    """Figures by name: updates, samples, accuracy before and after."""
    asked_at = models.DateTimeField()
    postponements = models.PositiveIntegerField(default=0)
    """As in `Postponed`, which has a default in the database; this column is older and has none."""
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-asked_at", "-number"]
        indexes = [models.Index(fields=["state"], condition=Q(state="running"), name="running_merge")]
        constraints = [
            models.UniqueConstraint(fields=["federation", "number"], name="merge_number_once"),
            # Two would each begin with a champion that the other replaces.
            models.UniqueConstraint(
                fields=["federation"], condition=Q(state="running"), name="one_running_merge_a_federation"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["running", "published", "abandoned"]), name="merge_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state="published", result_version__isnull=False)
                | (~Q(state="published") & Q(result_version=None)),
                name="published_merge_has_version",
            ),
            models.CheckConstraint(
                condition=Q(state="running", finished_at=None) | (~Q(state="running") & Q(finished_at__isnull=False)),
                name="ended_merge_has_its_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.federation} merge {self.number}"

    @property
    def release(self) -> str:
        """The name of its release in the privacy ledger."""
        return f"merge {self.pk}"

    def parsed_plan(self) -> Plan:
        """The plan that its updates were made under."""
        return parse_plan(self.plan)


class UpdateFacts(models.Model):
    """The figures that a device reports of its update."""

    sha256 = models.CharField(max_length=64)
    size_bytes = models.PositiveBigIntegerField()
    samples = models.PositiveBigIntegerField()
    steps_done = models.PositiveBigIntegerField()
    steps_total = models.PositiveBigIntegerField()
    loss_before = models.FloatField()
    loss_after = models.FloatField()
    accuracy_before = models.FloatField(null=True, blank=True)
    train_s = models.FloatField()
    classes = models.JSONField(default=list, blank=True)
    """Classes whose rows of the output layer it holds, ascending; empty where it holds all."""
    train_memory_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    """Largest resident size of the agent while it trained; None: not reported."""

    class Meta:
        abstract = True


class Partial(Separated):
    """An accepted partial aggregate: the sum of updates that a supernode verified, stored among its cohort's files."""

    project_path = "supernode__project"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    supernode = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="partials")
    cohort = models.PositiveBigIntegerField()
    """The cohort of its updates."""
    sha256 = models.CharField(max_length=64)
    size_bytes = models.PositiveBigIntegerField()
    weights = models.JSONField()
    """By identity of an update, its weight in the sum; 0: it was left out."""
    received_at = models.DateTimeField()

    class Meta:
        ordering = ["-received_at"]

    def __str__(self) -> str:
        return f"sum of {len(self.weights)} updates by {self.supernode}"


class Update(UpdateFacts, Separated):
    """An accepted update: verified, stored, counted once."""

    project_path = "federation__project"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    """The identity of its assignment, which can therefore have only one update."""
    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="updates")
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="updates")
    base_version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="+")
    """What it is a difference from: the base's version or its group's."""
    cohort = models.PositiveBigIntegerField()
    """Number of the collection for which it was requested: the files of one cohort are stored and removed together."""
    merge = models.ForeignKey(Merge, null=True, blank=True, on_delete=models.RESTRICT, related_name="updates")
    """The merge that it went into; None: it waits for one, or too few came with it."""
    partial = models.ForeignKey(Partial, null=True, blank=True, on_delete=models.RESTRICT, related_name="updates")
    """The partial aggregate that contains it, so that it has no file of its own; None: it came by itself."""
    norm = models.FloatField(null=True, blank=True)
    """L2 norm, as measured by its verifier; None: it came before norms were stored."""
    offered_at = models.DateTimeField(null=True, blank=True)
    """When its device was invited, once its assignment was folded into it; None: it was not folded."""
    received_at = models.DateTimeField()
    verified_at = models.DateTimeField(null=True, blank=True)
    """When scrubbing last compared its file with its hash; None: not yet."""
    staleness = models.PositiveIntegerField(default=0)
    """By how many versions its base was older than its merge's, in asynchronous rounds; else 0."""
    cloud_accuracy = models.FloatField(null=True, blank=True)
    """Of the device's model on the cloud data, where the merge measured it."""
    kept = models.BooleanField(null=True, blank=True)
    """Whether the base model learned from it, where the merge drops the worst or those that differ."""
    merge_weight = models.FloatField(null=True, blank=True)
    """Its share of the version, where 1 is an equal share and 0 is none; null: the merge did not compare updates."""
    merge_distance = models.FloatField(null=True, blank=True)
    """Its distance from the others, as the plan's merge measures it."""
    fault_code = models.CharField(max_length=64, blank=True)
    """Why the merge left it out, e.g. ``update.damaged`` or ``update.outlier``; blank: it was not left out."""
    fault_sentence = models.TextField(blank=True)

    class Meta:
        ordering = ["-received_at"]

    def __str__(self) -> str:
        return f"update of {self.device} for {self.federation}"
