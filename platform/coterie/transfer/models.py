"""Devices' reported profiles and personal models, help requests, and the transfers that answer them.

A help request goes asked → matched → requested → delivered → merged → judged; without a helper it ends unmatched, and
abandoned when the device that asked is lost. From matched and requested it goes back to asked when a helper does not
come through, and another is tried. Each helper that is tried is one transfer. Every step is one compare-and-set on the
request's row, so that any number of workers may try.
"""

import uuid

import msgspec
from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.separation import Separated
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie_learning.device_plan import DevicePlan, parse_device_plan
from coterie_learning.help import HelpRules
from coterie_learning.portions.payload import PortionTerms
from coterie_wire.bundle import BlobRef
from coterie_wire.helping import Profile
from coterie_wire.structs import from_values


class DeviceProfile(Separated):
    """The newest profile that a device reported to a federation."""

    project_path = "federation__project"

    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="profiles")
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="profiles")
    batch = models.PositiveBigIntegerField()
    content = models.JSONField()
    """A `coterie_wire.helping.Profile`."""
    size_bytes = models.PositiveBigIntegerField(default=0)
    """Of all its reports so far."""
    reports = models.PositiveBigIntegerField(default=0)
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ["federation", "device"]
        indexes = [models.Index(fields=["federation", "updated_at"])]
        constraints = [models.UniqueConstraint(fields=["federation", "device"], name="one_profile_a_member")]

    def __str__(self) -> str:
        return f"profile of {self.device}"

    def profile(self) -> Profile:
        """The reported profile, parsed."""
        return from_values(self.content, Profile)


class ReportedDay(Separated):
    """The profiles that a device reported in a day: how many, and how many bytes together."""

    project_path = "federation__project"

    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="reported_days")
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="reported_days")
    day = models.DateField()
    """In UTC."""
    size_bytes = models.PositiveBigIntegerField(default=0)
    reports = models.PositiveBigIntegerField(default=0)
    noised = models.PositiveBigIntegerField(default=0, db_default=0)
    """How many of these had noise added on the device, as it reported."""
    epsilon = models.FloatField(default=0.0, db_default=0.0)
    """The largest epsilon per sample of one of these; 0: none had noise."""
    delta = models.FloatField(default=0.0, db_default=0.0)
    """Likewise."""
    latest_at = models.DateTimeField()

    class Meta:
        ordering = ["-day", "federation", "device"]
        indexes = [models.Index(fields=["day"], name="reported_by_day")]
        constraints = [
            models.UniqueConstraint(fields=["device", "federation", "day"], name="one_row_a_member_and_day"),
        ]

    def __str__(self) -> str:
        return f"told by {self.device} on {self.day:%F}"


class PersonalFigures(Separated):
    """The personal model of a device compared with the version, as last reported to a federation."""

    project_path = "federation__project"

    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="personal_figures")
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="personal_figures")
    version = models.CharField(max_length=64)
    """The version that it was compared with."""
    answers = models.BooleanField()
    """Whether the personal model answers, or the version."""
    samples = models.PositiveBigIntegerField()
    """Samples held out on the device, on which both were compared."""
    version_accuracy = models.FloatField(null=True, blank=True)
    own_accuracy = models.FloatField(null=True, blank=True)
    """Of what answers."""
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ["federation", "device"]
        verbose_name_plural = "personal figures"
        constraints = [models.UniqueConstraint(fields=["federation", "device"], name="one_personal_model_a_member")]

    def __str__(self) -> str:
        return f"personal model of {self.device}"


class HelpRequest(Stateful, Separated):
    """A device whose model fails asks others for help."""

    project_path = "federation__project"

    class State(models.TextChoices):
        """How far it is."""

        ASKED = "asked"
        """A helper is searched for."""
        MATCHED = "matched"
        """A helper is found and has not been told yet."""
        REQUESTED = "requested"
        """The helper has been told to serve."""
        DELIVERED = "delivered"
        """The portion waits for the device that asked."""
        MERGED = "merged"
        """The device has merged the portion and judges it."""
        JUDGED = "judged"
        """The merged portion was kept or undone."""
        UNMATCHED = "unmatched"
        """No device could help."""
        ABANDONED = "abandoned"
        """The device that asked was lost, or the answer is no longer needed."""

    LIVE = ("asked", "matched", "requested", "delivered", "merged")
    IN_VAIN = ("unmatched", "abandoned")

    id = models.UUIDField(primary_key=True, editable=False)
    """Chosen by the device, so that a repeated request is the same request."""
    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="help_requests")
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="help_requests")
    state = models.CharField(max_length=10, choices=State.choices, default=State.ASKED)
    changed_at = models.DateTimeField()
    """When its state last changed."""
    due_at = models.DateTimeField()
    """When its current state must have ended."""
    searched_at = models.DateTimeField(null=True, blank=True)
    """When a helper was last searched for without success."""
    plan = models.JSONField()
    """The `coterie_learning.device_plan.DevicePlan` when it was asked; later changes do not affect it."""
    plan_digest = models.CharField(max_length=64)
    """SHA-256 of the plan's bytes, by which devices identify the plan."""
    classes = models.JSONField()
    """The troubled classes: a list of integers."""
    profile = models.JSONField()
    """The `coterie_wire.helping.Profile` of the batches that it asks about."""
    asked_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-asked_at", "-id"]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=Q(state__in=["asked", "matched", "requested", "delivered", "merged"]),
                name="live_help_request",
            ),
            models.Index(fields=["federation", "-asked_at"]),
            models.Index(
                fields=["finished_at"], condition=Q(state__in=["unmatched", "abandoned"]), name="help_request_in_vain"
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["device"],
                condition=Q(state__in=["asked", "matched", "requested", "delivered", "merged"]),
                name="one_live_help_request_a_device",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "asked",
                        "matched",
                        "requested",
                        "delivered",
                        "merged",
                        "judged",
                        "unmatched",
                        "abandoned",
                    ]
                ),
                name="help_request_state_known",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["judged", "unmatched", "abandoned"], finished_at__isnull=False)
                | (~Q(state__in=["judged", "unmatched", "abandoned"]) & Q(finished_at=None)),
                name="ended_help_request_has_its_end",
            ),
        ]

    def __str__(self) -> str:
        return f"help for {self.device} with {self.classes}"

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.state in self.LIVE

    def rules(self) -> HelpRules:
        """The plan's rules of help under which it was asked."""
        rules = self._device_plan().help.rules()
        assert rules is not None, "nobody asks where devices do not help each other"
        return rules

    def terms(self) -> PortionTerms:
        """What helper, target and platform agree on; needs the federation's pair."""
        plan = self._device_plan()
        model = self.federation.pair.model_spec()
        return PortionTerms(model, tuple(self.classes), self.rules(), plan.codec, plan.privacy)

    def _device_plan(self) -> DevicePlan:
        return parse_device_plan(msgspec.json.encode(self.plan))

    def parsed_profile(self) -> Profile:
        """The profile of the batches for which it asks help."""
        return from_values(self.profile, Profile)


class Transfer(Stateful, Separated):
    """One helper's part in one help request."""

    project_path = "request__federation__project"

    class State(models.TextChoices):
        """How far it is."""

        MATCHED = "matched"
        """The helper has not been told yet."""
        REQUESTED = "requested"
        """The helper has been told to serve."""
        DELIVERED = "delivered"
        """Its portion is verified and stored."""
        MERGED = "merged"
        KEPT = "kept"
        """The device that asked does better with the portion."""
        UNDONE = "undone"
        """The device that asked does not do better with it."""
        DECLINED = "declined"
        """The helper declined."""
        REJECTED = "rejected"
        """Its portion was wrong."""
        EXPIRED = "expired"
        """It took too long."""
        WITHDRAWN = "withdrawn"
        """It is no longer needed."""

    class Way(models.TextChoices):
        """How its portion comes to the device that asked."""

        TRYING = "trying"
        """The device tries to fetch it from the helper."""
        DIRECT = "direct"
        """It has fetched it from the helper."""
        PLATFORM = "platform"
        """The helper uploads it."""

    WITH_HELPER = ("matched", "requested")
    WITH_TARGET = ("delivered", "merged")
    LIVE = (*WITH_HELPER, *WITH_TARGET)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    request = models.ForeignKey(HelpRequest, on_delete=models.CASCADE, related_name="transfers")
    helper = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="transfers_given")
    state = models.CharField(max_length=10, choices=State.choices, default=State.MATCHED)
    divergence = models.FloatField()
    """Jensen-Shannon divergence of the two devices' class shares, in bits."""
    matched_at = models.DateTimeField()
    requested_at = models.DateTimeField(null=True, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)
    merged_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField()
    """When the portion must have arrived."""
    sha256 = models.CharField(max_length=64, blank=True)
    """SHA-256 of the portion that was announced; blank: none was."""
    size_bytes = models.PositiveBigIntegerField(default=0)
    way = models.CharField(max_length=10, choices=Way.choices, default=Way.PLATFORM, db_default=Way.PLATFORM)
    way_code = models.CharField(max_length=64, blank=True, db_default="")
    way_sentence = models.CharField(max_length=400, blank=True, db_default="")
    """Why the portion comes this way."""
    accuracy_before = models.FloatField(null=True, blank=True)
    """Of the model of the device that asked, on its newest samples, without the portion; as a share of 1."""
    accuracy_after = models.FloatField(null=True, blank=True)
    """The same with the portion."""
    judged_samples = models.PositiveBigIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["request", "matched_at", "id"]
        indexes = [
            models.Index(
                fields=["helper"], condition=Q(state__in=["matched", "requested"]), name="transfer_with_helper"
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["request", "helper"], name="helper_tried_once_a_request"),
            models.UniqueConstraint(
                fields=["request"],
                condition=Q(state__in=["matched", "requested", "delivered", "merged"]),
                name="one_live_transfer_a_request",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "matched",
                        "requested",
                        "delivered",
                        "merged",
                        "kept",
                        "undone",
                        "declined",
                        "rejected",
                        "expired",
                        "withdrawn",
                    ]
                ),
                name="transfer_state_known",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["kept", "undone"], accuracy_before__isnull=False, accuracy_after__isnull=False)
                | ~Q(state__in=["kept", "undone"]),
                name="judged_transfer_has_figures",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.helper} helps {self.request.device}"

    @property
    def is_announced(self) -> bool:
        """Whether the helper has announced its portion, and has not delivered it."""
        return self.state in self.WITH_HELPER and self.sha256 != ""

    def portion(self) -> BlobRef:
        """What the device that asked fetches."""
        return BlobRef(self.sha256, self.size_bytes)
