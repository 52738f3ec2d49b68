"""Which rounds were exported: what has no row here, and has not ended before a moment noted here, is to be told."""

from django.db import models

from coterie.core.separation import Separated
from coterie.rounds.models import Round


class Exported(Separated):
    """That an exporter keeps a round as it ended."""

    project_path = "round__federation__project"

    exporter = models.CharField(max_length=100)
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=10)
    """In which it ended; one that is merged again ends twice."""
    at = models.DateTimeField()

    class Meta:
        ordering = ["-at", "-id"]
        verbose_name_plural = "exported"
        indexes = [models.Index(fields=["at"], name="exported_by_age")]
        constraints = [models.UniqueConstraint(fields=["exporter", "round", "state"], name="exported_once")]

    def __str__(self) -> str:
        return f"{self.round} ({self.state}) by {self.exporter}"


class ExportedUntil(models.Model):
    """That an exporter keeps every round that had ended by then; their rows may be gone."""

    exporter = models.CharField(max_length=100, unique=True)
    until = models.DateTimeField()

    class Meta:
        ordering = ["exporter"]
        verbose_name_plural = "exported until"

    def __str__(self) -> str:
        return f"{self.exporter} until {self.until}"
