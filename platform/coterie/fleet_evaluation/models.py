"""A federated evaluation and the parts of its devices.

An evaluation goes planned → measuring → finished or failed; an operator may cancel it before. Every step is one
compare-and-set on its row, so that any number of workers may try.
"""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.separation import Separated
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.fleet_evaluation.summary import EvaluationFigures, ReportedFigures
from coterie.registry.models import ModelVersion
from coterie_wire.structs import from_values


class Evaluation(Stateful, Separated):
    """A version that a sample of a federation's devices measures on samples that they hold out."""

    project_path = "federation__project"

    class State(models.TextChoices):
        """How far it is."""

        PLANNED = "planned"
        """It waits for devices."""
        MEASURING = "measuring"
        """Devices are asked; they measure when their conditions allow it."""
        FINISHED = "finished"
        FAILED = "failed"
        """Too few devices reported in time."""
        CANCELLED = "cancelled"

    ACTIVE = ("planned", "measuring")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="evaluations")
    version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="evaluations")
    tag = models.CharField(max_length=100, blank=True)
    """Only devices that carry it; blank: any."""
    devices_wanted = models.PositiveIntegerField()
    """The number of devices that are asked, or all where there are fewer."""
    reports_needed = models.PositiveIntegerField()
    """Devices that must have measured it, else it fails."""
    within_s = models.PositiveIntegerField()
    """Seconds that it waits for devices, and then again for their reports."""
    state = models.CharField(max_length=12, choices=State.choices, default=State.PLANNED)
    created_at = models.DateTimeField()
    begun_at = models.DateTimeField(null=True, blank=True)
    """When devices were asked."""
    due_at = models.DateTimeField()
    """When it ends at the latest, with the reports there are."""
    ended_at = models.DateTimeField(null=True, blank=True)
    figures = models.JSONField(default=dict, blank=True)
    """A `coterie.fleet_evaluation.summary.EvaluationFigures` of the reports so far; empty before the first."""

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["planned", "measuring", "finished", "failed", "cancelled"]),
                name="evaluation_state_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="measuring") | Q(begun_at__isnull=False), name="measuring_evaluation_has_begun"
            ),
            models.CheckConstraint(
                condition=Q(reports_needed__gte=1) & Q(devices_wanted__gte=models.F("reports_needed")),
                name="evaluation_asks_enough",
            ),
        ]

    def __str__(self) -> str:
        return f"evaluation of {self.version}"

    def found(self) -> EvaluationFigures | None:
        """The figures so far; None before the first report."""
        return from_values(self.figures, EvaluationFigures) if self.figures else None


class Part(Separated):
    """One device's part in an evaluation."""

    project_path = "evaluation__federation__project"

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="parts")
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="evaluation_parts")
    reported_at = models.DateTimeField(null=True, blank=True)
    """None: not yet."""
    samples = models.PositiveBigIntegerField(null=True, blank=True)
    loss = models.FloatField(null=True, blank=True)
    accuracy = models.FloatField(null=True, blank=True)
    fault_code = models.CharField(max_length=64, blank=True)
    fault_sentence = models.CharField(max_length=400, blank=True)
    """Why the device cannot measure the version."""

    class Meta:
        ordering = ["evaluation", "id"]
        constraints = [models.UniqueConstraint(fields=["evaluation", "device"], name="device_once_an_evaluation")]
        indexes = [
            models.Index(fields=["device"], condition=Q(reported_at=None), name="open_part_of_device"),
        ]

    def __str__(self) -> str:
        return f"{self.device} in {self.evaluation}"

    def reported_figures(self) -> ReportedFigures | None:
        """What the device has measured; None where it has not reported, or has reported a fault."""
        if self.samples is None or self.loss is None:
            return None
        return ReportedFigures(self.samples, self.loss, self.accuracy, tuple(self.device.tags))
