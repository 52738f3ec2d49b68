"""Which rounds were exported: a round without a row here, and that had not ended before a time recorded here, is to
be exported.
"""

from django.db import models

from coterie.core.separation import Separated
from coterie.rounds.models import Round


class Exported(Separated):
    """Records that an exporter has stored a round as it ended."""

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
    """Records that an exporter has stored every round that had ended by then; their rows may be deleted."""

    exporter = models.CharField(max_length=100, unique=True)
    until = models.DateTimeField()

    class Meta:
        ordering = ["exporter"]
        verbose_name_plural = "exported until"

    def __str__(self) -> str:
        return f"{self.exporter} until {self.until}"
