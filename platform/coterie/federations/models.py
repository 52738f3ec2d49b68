"""A federation: a pair, a plan, and the devices that carry a tag."""

import uuid

from django.db import models
from django.db.models import Q

from coterie.learning.plan import Plan, parse_plan
from coterie.registry.models import Dataset, ModelPair


class Federation(models.Model):
    """Devices that learn one task together, under one plan."""

    class State(models.TextChoices):
        """Whether rounds are held."""

        DRAFT = "draft"
        RUNNING = "running"
        PAUSED = "paused"
        """The round that is open comes to its end; no other opens."""
        FINISHED = "finished"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=100, unique=True)
    pair = models.ForeignKey(ModelPair, on_delete=models.PROTECT, related_name="federations")
    plan = models.JSONField()
    """A `coterie.learning.plan.Plan`, every hyperparameter written out."""
    device_tag = models.CharField(max_length=50, blank=True)
    """Its members are the enrolled devices with this tag; blank: all."""
    held_out = models.ForeignKey(Dataset, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """What every candidate is measured with before it is published."""
    tolerance = models.FloatField(default=0.02)
    """Accuracy that a candidate may lose against the champion and still be published, as a share of 1."""
    seed = models.PositiveBigIntegerField(default=0)
    rounds_wanted = models.PositiveIntegerField(null=True, blank=True)
    """Published rounds after which it is finished; none: it goes on."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["created_at", "slug"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["draft", "running", "paused", "finished"]), name="federation_state_known"
            ),
            models.CheckConstraint(condition=Q(tolerance__gte=0, tolerance__lte=1), name="tolerance_is_a_share"),
            # Two would move the same champion under each other's rounds.
            models.UniqueConstraint(
                fields=["pair"], condition=Q(state__in=["running", "paused"]), name="one_active_federation_a_pair"
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    def parsed_plan(self) -> Plan:
        """The plan that the next round will have."""
        return parse_plan(self.plan)
