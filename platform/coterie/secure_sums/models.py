"""A secure sum and the devices that take part in it.

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
        """Devices that finish training and join."""
        SHARING = "sharing"
        """The members' shares of their secrets, for one another."""
        MASKING = "masking"
        """The members' masked vectors."""
        REVEALING = "revealing"
        """The shares of the masks on the sum."""
        COLLECTED = "collected"
        """Nothing: its masks can be removed."""
        FAILED = "failed"
        """Nothing: it cannot be recovered, or too few took part."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    """The session identifier for devices."""
    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="secure_sums")
    cohort = models.PositiveBigIntegerField(unique=True, null=True, blank=True)
    """Number of the collection for which its updates were requested; None: it sums answers."""
    question = models.JSONField(null=True, blank=True)
    """The `coterie_learning.question.Question` whose counts it sums; None: it sums updates."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.JOINING)
    plan = models.JSONField(null=True, blank=True)
    base_version = models.ForeignKey(ModelVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """What the updates are differences from."""
    number = models.PositiveIntegerField(default=0)
    """Seed of the round, from which devices derive the rotation of their vectors."""
    closes_at = models.DateTimeField(null=True, blank=True)
    """When its step ends at the latest; None: it has no time limit."""
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

    def parsed_question(self) -> Question | None:
        """The question whose counts it sums; None: it sums updates."""
        return None if self.question is None else parse_question(self.question)

    def terms(self) -> SumTerms:
        """The guarantees that it gives each device."""
        parsed_question = self.parsed_question()
        return self.masking().terms if parsed_question is None else parsed_question.terms

    def step_s(self) -> float:
        """The longest that each step waits for devices, in seconds."""
        parsed_question = self.parsed_question()
        return self.masking().step_s if parsed_question is None else parsed_question.step_s


class Party(Separated):
    """One device's part in a sum. Its messages are stored as received, as JSON, until the contents are discarded."""

    project_path = "sum__federation__project"

    id = models.UUIDField(primary_key=True, editable=False)
    """The identity of its assignment."""
    sum = models.ForeignKey(SecureSum, on_delete=models.CASCADE, related_name="parties")
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="+")
    place = models.PositiveIntegerField(null=True, blank=True)
    """Its place in the list of members, once that is closed."""
    member = models.TextField()
    """Its entry in the list."""
    boxes = models.TextField(blank=True)
    """Its sealed shares for its neighbours; blank: it has sent none."""
    vector_sha256 = models.CharField(max_length=64, blank=True)
    """Of the masked vector that it announced."""
    vector_bytes = models.PositiveBigIntegerField(default=0)
    delivered_at = models.DateTimeField(null=True, blank=True)
    """When its vector was complete; null: it was not, or too late."""
    out_of_budget = models.BooleanField(default=False)
    """Its privacy budget did not cover its part, so it was left out although its vector was complete."""
    shares = models.TextField(blank=True)
    """The shares of others that it has revealed; blank: none."""

    class Meta:
        ordering = ["sum", "place"]
        verbose_name_plural = "parties"
        constraints = [models.UniqueConstraint(fields=["sum", "device"], name="device_once_a_sum")]

    def __str__(self) -> str:
        return f"{self.device} in {self.sum}"


class Identity(models.Model):
    """An entry of the log of identities: the key with which a device signs its session keys. Entries never change."""

    position = models.PositiveIntegerField(primary_key=True)
    """From 1 on, without gaps."""
    device = models.UUIDField(unique=True)
    """The device's identity, which remains when its row is deleted."""
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
