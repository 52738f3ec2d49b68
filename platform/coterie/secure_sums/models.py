"""A secure sum and those who take part in it.

A sum goes joining → sharing → masking → revealing → collected, or from any of these to failed. Every step is one
compare-and-set on its row, so that any number of workers may try.
"""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.separation import Separated
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.registry.models import ModelVersion
from coterie_learning.plan import Plan, stored_plan
from coterie_learning.privacy import Masking
from coterie_learning.question import Question, parse_question
from coterie_learning.secure_sum.terms import SumTerms


class SecureSum(Stateful, Separated):
    """The sum of the updates of one cohort, or of the answers to one question."""

    project_path = "federation__project"

    class State(models.TextChoices):
        """What it waits for."""

        JOINING = "joining"
        """Devices whose training is done."""
        SHARING = "sharing"
        """Shares of their secrets, for one another."""
        MASKING = "masking"
        """Their masked vectors."""
        REVEALING = "revealing"
        """Shares of the masks that are on the sum."""
        COLLECTED = "collected"
        """Nothing: its masks can be removed."""
        FAILED = "failed"
        """Nothing: it cannot be recovered, or too few took part."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    """Devices know it as their session."""
    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="secure_sums")
    cohort = models.PositiveBigIntegerField(unique=True, null=True, blank=True)
    """Number of the collection that its updates were asked for in; none: it is of answers."""
    question = models.JSONField(null=True, blank=True)
    """What devices count for it: a `coterie_learning.question.Question`; none: it is of updates."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.JOINING)
    plan = models.JSONField(null=True, blank=True)
    base_version = models.ForeignKey(ModelVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """What the updates are differences from."""
    number = models.PositiveIntegerField(default=0)
    """Of the round; devices rotate their vectors by it."""
    closes_at = models.DateTimeField(null=True, blank=True)
    """When its step ends at the latest; none: not by time."""
    list_sha256 = models.CharField(max_length=64, blank=True)
    """Digest of the list of members, once it is closed."""
    log_length = models.PositiveIntegerField(default=0)
    """Entries of the log of identities when the list was closed."""
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-began_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["joining", "sharing", "masking", "revealing", "collected", "failed"]),
                name="secure_sum_state_known",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["joining", "failed"]) | ~Q(list_sha256=""), name="shared_sum_has_list"
            ),
            models.CheckConstraint(
                condition=Q(question__isnull=True, cohort__isnull=False, plan__isnull=False, base_version__isnull=False)
                | Q(question__isnull=False, cohort=None, plan__isnull=True, base_version=None),
                name="sum_of_updates_or_answers",
            ),
        ]

    def __str__(self) -> str:
        return f"secure sum of {self.federation}, " + (
            f"round {self.number}" if self.question is None else "a question"
        )

    def parsed_plan(self) -> Plan:
        """The plan that its updates are made under."""
        return stored_plan(self.plan)

    def masking(self) -> Masking:
        """How its plan masks updates."""
        masking = self.parsed_plan().privacy.masking()
        assert masking is not None, "only plans that mask updates have secure sums"
        return masking

    def asked(self) -> Question | None:
        """What devices count for it; None: it is of updates."""
        return None if self.question is None else parse_question(self.question)

    def terms(self) -> SumTerms:
        """What it promises to each device."""
        asked = self.asked()
        return self.masking().terms if asked is None else asked.terms

    def step_s(self) -> float:
        """Seconds that each step waits for devices at most."""
        asked = self.asked()
        return self.masking().step_s if asked is None else asked.step_s


class Party(Separated):
    """One device's part in a sum. What it sends is kept as it came, as JSON, until the sum is forgotten."""

    project_path = "sum__federation__project"

    id = models.UUIDField(primary_key=True, editable=False)
    """Of its assignment."""
    sum = models.ForeignKey(SecureSum, on_delete=models.CASCADE, related_name="parties")
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="+")
    place = models.PositiveIntegerField(null=True, blank=True)
    """In the list of members, once it is closed."""
    member = models.TextField()
    """Its entry in the list."""
    boxes = models.TextField(blank=True)
    """Its shares for its neighbours, sealed; blank: it has sent none."""
    vector_sha256 = models.CharField(max_length=64, blank=True)
    """Of the masked vector that it announced."""
    vector_bytes = models.PositiveBigIntegerField(default=0)
    delivered_at = models.DateTimeField(null=True, blank=True)
    """When its vector was whole, in time."""
    out_of_budget = models.BooleanField(default=False)
    """No privacy budget paid for its part, so that it was left out with its vector whole."""
    shares = models.TextField(blank=True)
    """The shares of others that it has revealed; blank: none."""

    class Meta:
        ordering = ["sum", "place"]
        verbose_name_plural = "parties"
        constraints = [models.UniqueConstraint(fields=["sum", "device"], name="device_once_a_sum")]

    def __str__(self) -> str:
        return f"{self.device} in {self.sum}"


class Identity(models.Model):
    """An entry of the log of identities: the key that a device signs its session keys with. None is ever changed."""

    position = models.PositiveIntegerField(primary_key=True)
    """From 1 on, without gaps."""
    device = models.UUIDField(unique=True)
    """Its identity, which stays when its row goes."""
    key = models.BinaryField(max_length=32)
    """Ed25519."""
    head = models.BinaryField(max_length=32)
    """The hash of the log up to here; see `coterie_learning.secure_sum.identities`."""
    since = models.DateTimeField()

    class Meta:
        ordering = ["position"]
        verbose_name_plural = "identities"

    def __str__(self) -> str:
        return f"identity of device {self.device}"
