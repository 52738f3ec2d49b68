"""Faults are found anew each time; only what operators decided about them is kept."""

from django.db import models

from coterie.core.separation import ProjectRoot


class Mute(ProjectRoot):
    """A fault that is not shown: for a while, or until it is restored."""

    key = models.CharField(max_length=150)
    """Of the `coterie.repairs.faults.Repair`."""
    sentence = models.CharField(max_length=500)
    """As it read when it was muted."""
    until = models.DateTimeField(null=True, blank=True)
    """None: ignored."""
    muted_at = models.DateTimeField()

    class Meta:
        ordering = ["-muted_at"]
        constraints = [models.UniqueConstraint(fields=["project", "key"], name="mute_once")]

    def __str__(self) -> str:
        return self.key
