"""Forecasts of rounds, and the actual outcomes."""

from django.db import models

from coterie.core.separation import Separated
from coterie.rounds.models import Round


class Forecast(Separated):
    """The forecast of a round, from data before it opened."""

    project_path = "round__federation__project"

    round = models.OneToOneField(Round, on_delete=models.CASCADE, related_name="forecast")
    made_at = models.DateTimeField()
    history = models.PositiveIntegerField()
    """Number of parts in earlier rounds that it is based on."""
    duration_low_s = models.FloatField()
    duration_s = models.FloatField()
    duration_high_s = models.FloatField()
    lost_low = models.FloatField()
    lost = models.FloatField()
    lost_high = models.FloatField()
    up_bytes_low = models.FloatField()
    up_bytes = models.FloatField()
    up_bytes_high = models.FloatField()
    compared_at = models.DateTimeField(null=True, blank=True)
    """When the outcome was known; null: the round still accepts updates."""
    happened_duration_s = models.FloatField(null=True, blank=True)
    happened_lost = models.FloatField(null=True, blank=True)
    happened_up_bytes = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["-round"]
        indexes = [
            models.Index(fields=["compared_at"], condition=models.Q(compared_at=None), name="forecast_to_compare"),
            models.Index(fields=["compared_at"], condition=models.Q(compared_at__isnull=False), name="forecast_by_age"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    compared_at=None,
                    happened_duration_s=None,
                    happened_lost=None,
                    happened_up_bytes=None,
                )
                | models.Q(
                    compared_at__isnull=False,
                    happened_duration_s__isnull=False,
                    happened_lost__isnull=False,
                    happened_up_bytes__isnull=False,
                ),
                name="compared_forecast_is_complete",
            ),
        ]

    def __str__(self) -> str:
        return f"forecast of {self.round}"
