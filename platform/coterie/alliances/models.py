"""An alliance of two devices, their parts in it, and the sealed letters that one of them has not fetched yet.

An alliance goes waiting → working → finished or failed; an operator may cancel it before. Every step is one
compare-and-set on its row.
"""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.separation import ProjectRoot, Separated
from coterie.fleet.models import Device
from coterie.registry.models import ModelVersion
from coterie_wire.alliances import AllianceFigures


class Alliance(Stateful, ProjectRoot):
    """Two devices that train one network together, each with its own columns."""

    class State(models.TextChoices):
        """How far it is."""

        WAITING = "waiting"
        """It waits until the owners of both devices have agreed."""
        WORKING = "working"
        FINISHED = "finished"
        FAILED = "failed"
        """A party has reported that it cannot continue, or has left."""
        CANCELLED = "cancelled"

    ACTIVE = ("waiting", "working")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    terms = models.JSONField()
    """A `coterie_learning.vertical.terms.Terms`."""
    state = models.CharField(max_length=12, choices=State.choices, default=State.WAITING)
    created_at = models.DateTimeField()
    begun_at = models.DateTimeField(null=True, blank=True)
    """When both owners had agreed."""
    ended_at = models.DateTimeField(null=True, blank=True)
    common = models.PositiveIntegerField(default=0)
    """People whom both parties know; 0: not known yet."""
    epoch = models.PositiveIntegerField(default=0)
    """Epochs that have ended."""
    loss = models.FloatField(null=True, blank=True)
    accuracy = models.FloatField(null=True, blank=True)
    """Of the latest epoch, on people held out."""
    alone = models.FloatField(null=True, blank=True)
    """Accuracy on the same people of the half with the labels, taught without the other party."""
    history = models.JSONField(null=True, blank=True)
    """``[epoch, loss, accuracy]`` of each reported epoch, in order; None: none was."""

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "working", "finished", "failed", "cancelled"]),
                name="alliance_state_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="working") | Q(begun_at__isnull=False), name="working_alliance_has_begun"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def take_figures(self, figures: AllianceFigures) -> bool:
        """Apply the figures that a party reports; each party has a part of them. Whether anything has changed."""
        before = (self.common, self.epoch, self.loss, self.accuracy, self.alone)
        self.common, self.epoch = max(self.common, figures.common), max(self.epoch, figures.epoch)
        if figures.alone is not None:
            self.alone = figures.alone
        if figures.loss is not None:
            history = self.history or []
            if not history or history[-1][0] < figures.epoch:
                self.history = [*history, [figures.epoch, figures.loss, figures.accuracy]]
            self.loss, self.accuracy = figures.loss, figures.accuracy
        return before != (self.common, self.epoch, self.loss, self.accuracy, self.alone)


class Party(Separated):
    """One device in an alliance."""

    project_path = "alliance__project"

    class Role(models.TextChoices):
        """Which half of the network it has."""

        COLUMNS = "columns"
        LABELS = "labels"

    alliance = models.ForeignKey(Alliance, on_delete=models.CASCADE, related_name="parties")
    role = models.CharField(max_length=8, choices=Role.choices)
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="alliance_parties")
    version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="alliance_parties")
    """The version with which its half begins."""
    key = models.BinaryField(null=True, blank=True)
    """Public, 32 bytes; None: its owner has not agreed yet."""
    partner = models.BinaryField(null=True, blank=True)
    """The key of the other party that its owner has agreed to."""
    people = models.PositiveIntegerField(null=True, blank=True)
    columns = models.PositiveIntegerField(null=True, blank=True)
    joined_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    sent = models.PositiveIntegerField(default=0)
    """Number of letters that it has submitted."""
    sent_bytes = models.PositiveBigIntegerField(default=0)
    taken = models.PositiveIntegerField(default=0)
    """Number of letters of the other party that it has fetched and confirmed."""

    class Meta:
        ordering = ["alliance", "role"]
        constraints = [
            models.UniqueConstraint(fields=["alliance", "role"], name="role_once_an_alliance"),
            models.UniqueConstraint(fields=["alliance", "device"], name="device_once_an_alliance"),
        ]

    def __str__(self) -> str:
        return f"{self.device} in {self.alliance}"


class Letter(Separated):
    """A sealed letter that the other party has not fetched yet."""

    project_path = "party__alliance__project"

    party = models.ForeignKey(Party, on_delete=models.CASCADE, related_name="letters")
    """The party that wrote it."""
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        ordering = ["party", "number"]
        constraints = [models.UniqueConstraint(fields=["party", "number"], name="letter_once_a_party")]

    def __str__(self) -> str:
        return f"letter {self.number} of {self.party}"
