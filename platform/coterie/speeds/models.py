"""How long train steps and predictions took on devices, day by day."""

from django.db import models
from django.db.models import Q

from coterie.core.separation import Separated
from coterie.registry.models import ModelPair


class SpeedDay(Separated):
    """Durations that a pair's devices of similar speed reported on one day for one kind of work.

    A sum over devices: it names none, and days, bands and conditions add up to others.
    """

    project_path = "pair__project"

    pair = models.ForeignKey(ModelPair, on_delete=models.CASCADE, related_name="speed_days")
    day = models.DateField()
    """In UTC."""
    by = models.CharField(max_length=10)
    """The work, ``step`` or ``predict``, by which devices were compared: each day is stored by both."""
    band = models.PositiveSmallIntegerField()
    """The bucket of a `coterie_wire.latency.Histogram` in which these devices have the median of that work."""
    work = models.CharField(max_length=10)
    form = models.CharField(max_length=40)
    """Which form of the version; ``float32`` is the version itself."""
    charging = models.CharField(max_length=10)
    """``yes``, ``no`` or ``unknown``."""
    devices = models.PositiveIntegerField()
    durations = models.JSONField()
    """A `coterie_wire.latency.Histogram`: the sum of each device's last report of that day."""
    hottest_c = models.FloatField(null=True, blank=True)
    """The highest temperature at which any of them measured it."""
    taken_at = models.DateTimeField()

    class Meta:
        ordering = ["pair", "-day", "by", "band", "work", "form", "charging"]
        constraints = [
            models.UniqueConstraint(
                fields=["pair", "day", "by", "band", "work", "form", "charging"], name="speed_day_once"
            ),
            models.CheckConstraint(condition=Q(by__in=["step", "predict"]), name="speed_day_by_known"),
        ]
        indexes = [models.Index(fields=["day"], name="speed_day_by_age")]

    def __str__(self) -> str:
        return f"{self.work} of {self.form} in band {self.band} on {self.day}"
