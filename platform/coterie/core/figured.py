"""Figures of what was simulated, beside its whole outcome: what a list shows of each row."""

from django.db import models


class Figured(models.Model):
    """A simulation, with a few figures of its results; all are None until it has ended successfully."""

    asked_by = models.CharField(max_length=150, blank=True, db_default="")
    """Name of the person who asked for it; blank: an older release, or the platform, did."""
    accuracy = models.FloatField(null=True, blank=True)
    """Of the last version, on held-out samples."""
    accuracies = models.JSONField(null=True, blank=True)
    """That of some rounds, in their order."""
    device_accuracy_median = models.FloatField(null=True, blank=True)
    """Of the last version, over devices, each on its own samples; None: an older release ran it."""
    device_accuracy_worst_decile = models.FloatField(null=True, blank=True)
    """Mean over the worst tenth of devices."""
    bytes_per_device = models.FloatField(null=True, blank=True)
    """Up and down, for a device that took part."""
    joules_per_device = models.FloatField(null=True, blank=True)
    """Of radio and processor, for a device that took part; None: an older release ran it."""

    class Meta:
        abstract = True
