"""A roll-out and its trials.

A roll-out goes planned → measuring → promoted or rolled_back; an operator may promote or cancel it before. While it is
measuring it goes from phase to phase, in each of which more devices hold the candidate. Every step is one
compare-and-set on its row, so that any number of workers may try.
"""

import uuid
from datetime import datetime

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.separation import Separated
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.registry.models import ModelVersion
from coterie_learning.plan import ROLLOUT
from coterie_learning.rollout import Rollout as Terms
from coterie_wire.latency import Histogram
from coterie_wire.structs import from_values
from coterie_wire.trial import Fit, TrialFigures


class Rollout(Stateful, Separated):
    """The roll-out of a version to the devices of a federation."""

    project_path = "federation__project"

    class State(models.TextChoices):
        """How far it is."""

        PLANNED = "planned"
        """The end of the current round, or enough devices."""
        MEASURING = "measuring"
        """Reports of the canary group, which holds the candidate."""
        PROMOTED = "promoted"
        """The candidate is the champion of its lineage."""
        ROLLED_BACK = "rolled_back"
        CANCELLED = "cancelled"

    ACTIVE = ("planned", "measuring")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="rollouts")
    version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="rollouts")
    """The candidate."""
    champion = models.ForeignKey(ModelVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The version that was in use when it began, with which it is compared."""
    terms = models.JSONField()
    """A kind of slot ``rollout`` with every hyperparameter written out."""
    state = models.CharField(max_length=12, choices=State.choices, default=State.PLANNED)
    created_at = models.DateTimeField()
    begun_at = models.DateTimeField(null=True, blank=True)
    """When the canary group was given the candidate."""
    phase = models.PositiveSmallIntegerField(default=0, db_default=0)
    """Index of the current phase among those of its terms."""
    phase_since = models.DateTimeField(null=True, blank=True)
    """When the current phase gave its devices the candidate; null: when the roll-out began."""
    absent_since = models.DateTimeField(null=True, blank=True)
    """Since when the phase has too few present devices, and its clock is stopped; null: it has enough."""
    rested_s = models.FloatField(default=0.0, db_default=0.0)
    """Seconds for which the clock was stopped before that."""
    due_at = models.DateTimeField()
    """When the phase is judged at the latest, by the reports there are."""
    ended_at = models.DateTimeField(null=True, blank=True)
    figures = models.JSONField(default=dict, blank=True)
    """By name: devices, reports, faults, and the champion's and the candidate's error, or loss."""

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["federation"],
                condition=Q(state="measuring"),
                name="one_measuring_rollout_a_federation",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["planned", "measuring", "promoted", "rolled_back", "cancelled"]),
                name="rollout_state_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="measuring") | Q(begun_at__isnull=False, champion__isnull=False),
                name="measuring_rollout_has_begun",
            ),
        ]

    def __str__(self) -> str:
        return f"roll-out of {self.version}"

    def is_shadow(self) -> bool:
        """Whether the candidate runs in shadow beside the champion, which the group continues to use."""
        return self.parsed_terms().shadow_s() > 0

    def phase_began_at(self) -> datetime:
        """When the current phase began; the roll-out must have begun."""
        began_at = self.phase_since or self.begun_at
        assert began_at is not None, "it has begun"
        return began_at

    def rested_until_s(self, now: datetime) -> float:
        """Seconds for which the phase has waited for absent devices."""
        since_s = 0.0 if self.absent_since is None else max(0.0, (now - self.absent_since).total_seconds())
        return min(self.rested_s + since_s, self.parsed_terms().absence_s(self.phase))

    def parsed_terms(self) -> Terms:
        """The terms by which it is judged."""
        return ROLLOUT.parse(self.terms)


class Trial(Separated):
    """One device's part in a roll-out: it holds the candidate, and reports how well it works."""

    project_path = "rollout__federation__project"

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="trials")
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="trials")
    phase = models.PositiveSmallIntegerField(default=0, db_default=0)
    """The phase in which it was given the candidate."""
    reported_at = models.DateTimeField(null=True, blank=True)
    """None: not yet."""
    samples = models.PositiveBigIntegerField(null=True, blank=True)
    champion_loss = models.FloatField(null=True, blank=True)
    champion_accuracy = models.FloatField(null=True, blank=True)
    candidate_loss = models.FloatField(null=True, blank=True)
    candidate_accuracy = models.FloatField(null=True, blank=True)
    agreement = models.FloatField(null=True, blank=True)
    """Share of its shadow answers that equal the champion's; None: it has not run in shadow."""
    durations = models.JSONField(default=dict, blank=True)
    """Latencies as `coterie_wire.latency.Histogram`, by ``champion`` and ``candidate``; empty: none were measured."""
    fault_code = models.CharField(max_length=64, blank=True)
    fault_sentence = models.CharField(max_length=400, blank=True)
    """Why the device cannot use the candidate."""

    class Meta:
        ordering = ["rollout", "id"]
        constraints = [models.UniqueConstraint(fields=["rollout", "device"], name="device_once_a_rollout")]

    def __str__(self) -> str:
        return f"{self.device} in {self.rollout}"

    def took(self, which: str) -> Histogram:
        """How long answers of the ``champion`` or of the ``candidate`` took."""
        return from_values(self.durations[which], Histogram) if which in self.durations else Histogram()

    def compared(self) -> TrialFigures | None:
        """Both versions on the device's samples; None where it has not reported them."""
        if self.samples is None or self.champion_loss is None or self.candidate_loss is None:
            return None
        return TrialFigures(
            samples=self.samples,
            champion=Fit(self.champion_loss, self.champion_accuracy),
            candidate=Fit(self.candidate_loss, self.candidate_accuracy),
        )
