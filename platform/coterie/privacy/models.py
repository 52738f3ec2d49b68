"""Budgets, and the ledger of what has been spent of them."""

from django.db import models
from django.db.models import Q

from coterie.core.separation import Separated
from coterie.federations.models import Federation
from coterie.fleet.models import Device

DEFAULT_EPSILON, DEFAULT_DELTA = 8.0, 1e-6
"""The default budget of a federation and of a device."""


class Budget(Separated):
    """The privacy budget of a federation for each of its devices, or of a device over all federations."""

    project_path = ("federation__project", "device__project")

    federation = models.OneToOneField(
        Federation, null=True, blank=True, on_delete=models.CASCADE, related_name="privacy_budget"
    )
    device = models.OneToOneField(
        Device, null=True, blank=True, on_delete=models.CASCADE, related_name="privacy_budget"
    )
    epsilon = models.FloatField()
    delta = models.FloatField()
    mu2 = models.FloatField(editable=False)
    """The total cost μ² that they allow, as `coterie.privacy.accounting` computes it."""
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(federation=None, device__isnull=False) | Q(federation__isnull=False, device=None),
                name="budget_of_one",
            ),
            models.CheckConstraint(condition=Q(epsilon__gt=0, delta__gt=0, delta__lt=1), name="budget_in_range"),
        ]

    def __str__(self) -> str:
        return f"budget of {self.federation or self.device}"


class Account(Separated):
    """The sum of one federation's charges to one device so far, stored so that charges need not be added up."""

    project_path = "federation__project"

    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="privacy_accounts")
    federation = models.ForeignKey(Federation, on_delete=models.PROTECT, related_name="privacy_accounts")
    mu2 = models.FloatField()
    releases = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["federation", "device"], name="one_account")]

    def __str__(self) -> str:
        return f"{self.device} in {self.federation}"


class Charge(Separated):
    """The cost of one release to one device. The database refuses to change or delete it."""

    project_path = "federation__project"

    release = models.CharField(max_length=100)
    """The unique name of the release: ``merge 12``, or ``update ASSIGNMENT HASH``."""
    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="privacy_charges")
    federation = models.ForeignKey(Federation, on_delete=models.PROTECT, related_name="privacy_charges")
    noise_multiplier = models.FloatField()
    participations = models.PositiveIntegerField()
    mu2 = models.FloatField()
    total = models.FloatField()
    """Total μ² of the federation's charges to the device, this one included."""
    at = models.DateTimeField()

    class Meta:
        ordering = ["at", "pk"]
        indexes = [models.Index(fields=["federation", "at"], name="charge_of_federation")]
        constraints = [models.UniqueConstraint(fields=["release", "device"], name="charged_once")]

    def __str__(self) -> str:
        return f"{self.release} of {self.device}"


class StreamRelease(Separated):
    """One sum that was released under noise that depends on the noise of earlier releases."""

    project_path = "federation__project"

    federation = models.ForeignKey(Federation, on_delete=models.PROTECT, related_name="stream_releases")
    apart = models.PositiveIntegerField()
    """Releases between two parts of a device; with the federation it names the stream."""
    index = models.PositiveIntegerField()
    """Its index in the stream, from 0."""
    release = models.CharField(max_length=100)
    """The release for which devices were charged: ``merge 12``."""
    digest = models.CharField(max_length=64)
    """Digest of what was summed: with the stream's secret, its noise and that of later releases can be drawn again."""
    at = models.DateTimeField()

    class Meta:
        ordering = ["federation", "apart", "index"]
        constraints = [
            models.UniqueConstraint(fields=["federation", "apart", "index"], name="stream_place_once"),
            models.UniqueConstraint(fields=["release"], name="stream_release_once"),
        ]

    def __str__(self) -> str:
        return f"{self.release}, number {self.index} of {self.federation}"
