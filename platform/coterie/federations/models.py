"""A federation: a pair, a plan, and the devices that carry a tag."""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.archiving import Archivable
from coterie.core.durable import Stateful
from coterie.core.separation import ProjectRoot, Separated
from coterie.fleet.models import Device
from coterie.registry.models import BASE, Dataset, ModelPair
from coterie_learning.plan import Plan, stored_plan


class Federation(Stateful, Archivable, ProjectRoot):
    """Devices that learn one task together, under one plan."""

    class State(models.TextChoices):
        """Whether rounds are held."""

        DRAFT = "draft"
        RUNNING = "running"
        PAUSED = "paused"
        """The current round is completed; no other opens."""
        FINISHED = "finished"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=100)
    pair = models.ForeignKey(ModelPair, on_delete=models.PROTECT, related_name="federations")
    plan = models.JSONField()
    """A `coterie_learning.plan.Plan`, every hyperparameter written out."""
    device_tag = models.CharField(max_length=50, blank=True)
    """Its members are the enrolled devices with this tag; blank: all."""
    held_out = models.ForeignKey(Dataset, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The held-out data with which every candidate is measured before it is published."""
    cloud_data = models.ForeignKey(Dataset, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The data for merging by distillation; it never leaves the platform."""
    tolerance = models.FloatField(default=0.02)
    """Accuracy that a candidate may lose against the champion and still be published, as a share of 1."""
    patience = models.PositiveIntegerField(null=True, blank=True)
    """Worse candidates in a row that are not published; one more is published nevertheless. None: none ever is."""
    attempts = models.PositiveIntegerField(default=5)
    """Rounds in a row without a version, as its candidate was worse or not finite, or a kind failed, before it pauses
    itself."""
    kept_back = models.PositiveIntegerField(default=0)
    """Such rounds in a row so far, since it was started or changed."""
    own_versions = models.BooleanField(default=False)
    """Whether it has its own versions, which begin with the pair's, so that several can be active at once."""
    seed = models.PositiveBigIntegerField(default=0)
    rounds_wanted = models.PositiveIntegerField(null=True, blank=True)
    """Published rounds after which it is finished; None: it has no end."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["created_at", "slug"]
        constraints = [
            models.UniqueConstraint(fields=["project", "slug"], name="federation_slug_once"),
            models.CheckConstraint(
                condition=Q(state__in=["draft", "running", "paused", "finished"]), name="federation_state_known"
            ),
            models.CheckConstraint(
                condition=Q(archived_at=None) | Q(state__in=["draft", "finished"]), name="archived_holds_no_rounds"
            ),
            models.CheckConstraint(condition=Q(attempts__gte=1), name="attempts_are_some"),
            models.CheckConstraint(condition=Q(tolerance__gte=0, tolerance__lte=1), name="tolerance_is_a_share"),
            # Two would replace the same champion during each other's rounds.
            models.UniqueConstraint(
                fields=["pair"],
                condition=Q(state__in=["running", "paused"], own_versions=False),
                name="one_active_federation_a_pair",
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    def lineage(self, group: str = BASE) -> str:
        """The lineage of its models, or of those of one of its groups."""
        return f"{self.slug}/{group or 'base'}" if self.own_versions else group

    def group_of(self, lineage: str) -> str:
        """The group whose lineage this is; blank: none."""
        name = lineage.partition("/")[2] if self.own_versions else lineage
        return BASE if name == "base" else name

    def parsed_plan(self) -> Plan:
        """The plan that the next round will have."""
        return stored_plan(self.plan)


class Split(Separated):
    """The result of comparing the models of a round's devices."""

    project_path = "federation__project"

    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="splits")
    round_number = models.PositiveIntegerField()
    groups = models.PositiveIntegerField()
    """Number of groups; one is the base alone."""
    silhouettes = models.JSONField(default=dict)
    """By number of groups, the silhouette of the best division into that many, -1 to 1."""
    distances = models.JSONField(default=dict)
    """Mean distance between the models of two groups, by their names, in nats; of one group, within it."""
    reason_code = models.CharField(max_length=64)
    reason_sentence = models.CharField(max_length=400)
    """Why this number of groups was chosen."""
    at = models.DateTimeField()

    class Meta:
        ordering = ["-at", "-id"]
        constraints = [models.UniqueConstraint(fields=["federation", "round_number"], name="one_split_a_round")]

    def __str__(self) -> str:
        return f"{self.federation} round {self.round_number}: {self.groups}"


class Group(Separated):
    """Devices that share one cloud model and one device model after a split."""

    project_path = "federation__project"

    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="groups")
    name = models.CharField(max_length=40)
    """Also the name of its lineage."""
    since = models.DateTimeField()
    until = models.DateTimeField(null=True, blank=True)
    """When its last member left; none: it has members."""

    class Meta:
        ordering = ["federation", "since", "name"]
        constraints = [models.UniqueConstraint(fields=["federation", "name"], name="group_name_once")]

    def __str__(self) -> str:
        return f"{self.federation} {self.name}"


class Membership(Separated):
    """A device's time in a group; a device without one has the base's models."""

    project_path = "federation__project"

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="memberships")
    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="memberships")
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="memberships")
    since = models.DateTimeField()
    since_round = models.PositiveIntegerField()
    """The round whose split put it there."""
    until = models.DateTimeField(null=True, blank=True)
    """None: it is in the group now."""

    class Meta:
        ordering = ["-since", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["federation", "device"], condition=Q(until=None), name="one_group_a_device"
            ),
        ]
        indexes = [models.Index(fields=["group"], condition=Q(until=None), name="member_by_group")]

    def __str__(self) -> str:
        return f"{self.device} in {self.group}"
