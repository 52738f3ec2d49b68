"""Figures of what was simulated, beside its whole outcome: what a list shows of each row."""

from django.db import models


class Figured(models.Model):
    """A simulation, with a few figures of what it found; all of them are none before it has ended well."""

    asked_by = models.CharField(max_length=150, blank=True, db_default="")
    """Name of the person who asked for it; blank: an older release, or the platform, did."""
    accuracy = models.FloatField(null=True, blank=True)
    """Of the last version, on samples held out."""
    accuracies = models.JSONField(null=True, blank=True)
    """How it came about: that of some rounds, in their order."""
    device_accuracy_median = models.FloatField(null=True, blank=True)
    """Of the last version, over devices, each on samples of its own; none: an older release found it, too."""
    device_accuracy_worst_decile = models.FloatField(null=True, blank=True)
    """Mean over the worst tenth of devices."""
    bytes_per_device = models.FloatField(null=True, blank=True)
    """Up and down, of a device that took part."""
    joules_per_device = models.FloatField(null=True, blank=True)
    """Of radio and processor, of a device that took part; none: an older release found it, too."""

    class Meta:
        abstract = True
