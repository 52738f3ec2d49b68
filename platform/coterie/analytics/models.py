"""A question to the devices of a federation, and each device's part in the answer.

A question goes open → summing → answered, or from either to failed or cancelled. Every step is one compare-and-set on
its row, so that any number of workers may try.
"""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.separation import Separated
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.secure_sums.models import SecureSum
from coterie_learning.question import Question as Content
from coterie_learning.question import parse_question


class Question(Stateful, Separated):
    """What the devices of a federation are asked, and what they answer together."""

    project_path = "federation__project"

    class State(models.TextChoices):
        """How far it is."""

        OPEN = "open"
        """Devices join its sum."""
        SUMMING = "summing"
        """Those who joined are summed."""
        ANSWERED = "answered"
        FAILED = "failed"
        """Too few joined, or the sum could not be recovered: nobody has read anything."""
        CANCELLED = "cancelled"

    ACTIVE = ("open", "summing")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="questions")
    title = models.CharField(max_length=200, blank=True)
    content = models.JSONField()
    """A `coterie_learning.question.Question`, every setting written out."""
    epsilon = models.FloatField(null=True, blank=True)
    """What it costs each device in it at most, by itself; none: its answer is exact, and nothing is guaranteed."""
    delta = models.FloatField(null=True, blank=True)
    """That of the federation's budget when it was asked."""
    devices_wanted = models.PositiveIntegerField()
    """With the last of them the sum takes no more."""
    sum = models.OneToOneField(SecureSum, on_delete=models.RESTRICT, related_name="asked_by")
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    asked_at = models.DateTimeField()
    closes_at = models.DateTimeField()
    """From then on the sum takes no more devices."""
    ended_at = models.DateTimeField(null=True, blank=True)
    counts = models.JSONField(default=list, blank=True)
    """Of the answer: a number for each cell."""
    deviation = models.FloatField(null=True, blank=True)
    """Standard deviation of the noise on each count."""
    devices = models.PositiveIntegerField(null=True, blank=True)
    """That were summed."""
    removed_parts = models.JSONField(null=True, blank=True)
    """How many parts of it were removed, by the code with which the device declined, blank: it had not; null: none."""

    class Meta:
        ordering = ["-asked_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["open", "summing", "answered", "failed", "cancelled"]),
                name="question_state_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="answered") | Q(devices__isnull=False, deviation__isnull=False),
                name="answer_has_its_error",
            ),
        ]

    def __str__(self) -> str:
        return self.title or f"question {self.pk}"

    def parsed(self) -> Content:
        """What is counted, and what is promised."""
        return parse_question(self.content)


class Part(Separated):
    """That a device was asked; whether it joined is the sum's to say."""

    project_path = "question__federation__project"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    """The device and the sum know it as the assignment."""
    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="parts")
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="+")
    asked_at = models.DateTimeField()
    declined_code = models.CharField(max_length=64, blank=True)
    """Why the device will not answer; blank: it has not declined."""
    declined_sentence = models.CharField(max_length=400, blank=True)

    class Meta:
        ordering = ["question", "asked_at"]
        constraints = [models.UniqueConstraint(fields=["question", "device"], name="device_once_a_question")]

    def __str__(self) -> str:
        return f"{self.device} in {self.question}"
