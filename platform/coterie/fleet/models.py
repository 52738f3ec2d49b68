"""Devices as they last reported themselves, and the tokens with which they join."""

import uuid
from datetime import datetime, timedelta

from django.db import models
from django.db.models import F, Q

from coterie.core.archiving import Archivable
from coterie.core.separation import ProjectRoot, Separated
from coterie_wire.conditions import Reason
from coterie_wire.messages import DataMetadata
from coterie_wire.structs import from_values

LONGEST_PRESENCE = timedelta(days=1)
"""No check-in makes a device present for longer: who counts as present beyond that did so before the clock was set
back."""
LONGEST_QUARANTINE_REASON = 400
"""Characters."""


class EnrolmentToken(ProjectRoot):
    """Lets a limited number of devices join until it expires; only its hash is stored."""

    label = models.CharField(max_length=100)
    tags = models.JSONField(default=list, blank=True)
    """Tags of every device that joins with it: a list of strings."""
    secret_hash = models.CharField(max_length=64, unique=True, editable=False)
    uses_allowed = models.PositiveIntegerField()
    uses = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(condition=Q(uses__lte=F("uses_allowed")), name="uses_within_allowed"),
        ]

    def __str__(self) -> str:
        return self.label


class CredentialRenewal(ProjectRoot):
    """An operator's order that devices renew their credentials (ADR 72)."""

    tag = models.CharField(max_length=50, blank=True)
    """Whose devices; blank: it was for the whole fleet, or for one device."""
    leaked = models.BooleanField()
    """The former credential ends with the first use of the next, without a grace."""
    devices = models.PositiveIntegerField()
    """How many devices were asked."""
    ordered_at = models.DateTimeField()

    class Meta:
        ordering = ["-ordered_at", "-id"]

    def __str__(self) -> str:
        return f"renewal of {self.ordered_at:%F %T}"


class Device(Archivable, ProjectRoot):
    """One enrolled edge agent; one that was revoked or has left may be archived."""

    class State(models.TextChoices):
        """Whether its credential is valid."""

        ENROLLED = "enrolled"
        REVOKED = "revoked"
        LEFT = "left"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    tags = models.JSONField(default=list, blank=True)
    """A list of strings."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.ENROLLED)
    credential_hash = models.CharField(max_length=64, unique=True, editable=False)
    credential_since = models.DateTimeField(null=True, blank=True)
    """When it began to use its credential; null: when it joined."""
    certificate_until = models.DateTimeField(null=True, blank=True)
    """When its latest certificate ends; null: it has none."""
    renewal = models.ForeignKey(CredentialRenewal, null=True, blank=True, on_delete=models.SET_NULL, db_index=False)
    """The order to renew its credential that it has not followed yet."""
    trusted_key = models.CharField(max_length=64, blank=True, editable=False)
    """The platform's Ed25519 public key that it trusts, in hexadecimal digits; blank: unknown."""
    enrolled_with = models.ForeignKey(EnrolmentToken, null=True, blank=True, on_delete=models.SET_NULL)
    enrolled_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    """When it was revoked or left."""
    last_seen_at = models.DateTimeField(null=True, blank=True)
    """When it last checked in; where it is `tracked`, `seen_at` is more recent."""
    broke_off_at = models.DateTimeField(null=True, blank=True, editable=False)
    """When one of its sockets last broke off while neighbours waited for it."""
    check_in_s = models.FloatField(default=10.0)
    """Seconds within which it was last told to check in again."""
    present_until = models.DateTimeField(null=True, blank=True, db_index=True)
    """Counts as present until then; only check-ins prolong it, since an open socket proves nothing. Where it is
    `tracked`, it is written anew when its `Presence` ends."""
    tracked = models.BooleanField(default=False, db_default=False, editable=False)
    """Whether its `Presence` row says how long it is present, see `coterie.fleet.presence`."""
    by_socket = models.BooleanField(default=False, db_default=False, editable=False)
    """Whether its last check-in came over a socket, through which it can be woken."""
    copied_at = models.DateTimeField(null=True, blank=True, editable=False)
    """When two agents were last found to run as this device."""
    capabilities = models.JSONField(default=dict, blank=True)
    lacks = models.TextField(default="", blank=True, editable=False)
    """The kinds of plans that it lacks of those that the platform has (`coterie.fleet.kinds`), and what its owner has
    taken back (`coterie.fleet.declining`); blank: none."""
    conditions = models.JSONField(default=dict, blank=True)
    blockers = models.JSONField(default=list, blank=True)
    blocked_by = models.CharField(max_length=64, blank=True)
    """Code of the first of `blockers`, to count and to filter by; blank: it was ready."""
    paused_at = models.DateTimeField(null=True, blank=True)
    """Since when it is paused, by an operator or by its quarantine."""
    quarantine = models.TextField(blank=True)
    """Why it is in quarantine, where it is; it is paused by the platform then. Short, as indexes hold it."""
    trusted_since = models.DateTimeField(null=True, blank=True)
    """When an operator last released it from quarantine: what it sent before no longer counts against it."""
    pinned_version = models.CharField(max_length=64, blank=True)
    """The model version that an operator has pinned it to; blank: the one that its federation uses."""
    metadata = models.JSONField(default=dict, blank=True)
    held_version = models.CharField(max_length=64, blank=True)
    train_step_s = models.FloatField(null=True, blank=True)
    """Seconds of one train step, as measured on the device."""

    class Meta:
        ordering = ["name", "id"]
        indexes = [
            # Each covers its query, so that counting and sorting 100,000 devices read no rows.
            models.Index(
                fields=[
                    *("state", "present_until", "blocked_by", "paused_at", "pinned_version", "quarantine"),
                    *("name", "id"),
                ],
                name="device_by_status",
            ),
            models.Index(fields=["tags", "archived_at"], name="device_by_tags", condition=Q(archived_at=None)),
            models.Index(fields=["name", "id"], name="device_by_name"),
            # No index begins with `archived_at`: SQLite, which knows no distributions, would take it for selective.
            models.Index(
                fields=["name", "id", "archived_at"], name="device_not_archived", condition=Q(archived_at=None)
            ),
            models.Index(
                fields=["-tracked", "-last_seen_at", "id"], name="device_by_last_seen", condition=Q(archived_at=None)
            ),
            models.Index(
                fields=["blocked_by", "state", "present_until", "paused_at", "pinned_version", "quarantine"],
                name="device_by_blocker",
            ),
            models.Index(fields=["state", "held_version", "project", "tags"], name="device_by_version"),
            models.Index(fields=["tracked", "last_seen_at"], name="device_by_presence"),
            models.Index(fields=["state", "last_seen_at"], name="device_by_silence"),
            models.Index(fields=["enrolled_at", "id"], name="device_by_enrolment", condition=Q(archived_at=None)),
            models.Index(fields=["train_step_s", "id"], name="device_by_train_step", condition=Q(archived_at=None)),
            models.Index(fields=["ended_at"], name="device_by_end", condition=Q(ended_at__isnull=False)),
            models.Index(fields=["paused_at"], name="device_by_quarantine", condition=Q(quarantine__gt="")),
            models.Index(fields=["copied_at"], name="device_by_copy", condition=Q(copied_at__isnull=False)),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=["enrolled", "revoked", "left"]), name="device_state_known"),
        ]

    def __str__(self) -> str:
        return self.name

    def seen_at(self) -> datetime | None:
        """When it last checked in; lists select its ``presence`` with it."""
        presence: Presence | None = getattr(self, "presence", None)
        return self.last_seen_at if presence is None else presence.seen_at

    def is_present(self, now: datetime) -> bool:
        """Whether it has checked in on time."""
        if self.state != self.State.ENROLLED or self.present_until is None:
            return False
        return now <= self.present_until <= now + LONGEST_PRESENCE

    def reported_blockers(self) -> tuple[Reason, ...]:
        """Why it did not train at its last check-in; empty: it was ready."""
        return from_values(self.blockers, tuple[Reason, ...])

    def reported_metadata(self) -> DataMetadata:
        """What it reported about its data."""
        return from_values(self.metadata, DataMetadata)


class Presence(Separated):
    """When a device last checked in, apart from its row, so that a check-in does not write its indexes (ADR 116).

    PostgreSQL keeps no log of this table, and empties it after a crash.
    """

    project_path = "device__project"

    device = models.OneToOneField(Device, primary_key=True, on_delete=models.CASCADE, related_name="presence")
    seen_at = models.DateTimeField()
    seen_before_at = models.DateTimeField(null=True, blank=True)
    """When it checked in the time before; null: it has checked in once."""
    until = models.DateTimeField(db_index=True)
    """It counts as present until then."""

    class Meta:
        ordering = ["device"]
        verbose_name_plural = "presence"

    def __str__(self) -> str:
        return f"{self.device} until {self.until:%F %T}"


class PresenceKept(models.Model):
    """A marker that `Presence` has a row for each tracked device; one row, which PostgreSQL loses with them."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    since = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "presence kept"
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_presence_kept")]

    def __str__(self) -> str:
        return f"since {self.since:%F %T}"


class DeviceAgent(ProjectRoot):
    """The agent of an enrolled device, apart from its row, which every check-in rewrites: a fleet's agents are counted
    without reading its devices (ADR 108)."""

    device = models.OneToOneField(Device, primary_key=True, on_delete=models.CASCADE, related_name="agent")
    version = models.CharField(max_length=40)
    refuses_updates = models.CharField(max_length=64, blank=True)
    """Code of why it takes no updates; blank: it takes them."""

    class Meta:
        ordering = ["device"]
        # It covers its query, so that counting 100,000 agents reads no rows.
        indexes = [models.Index(fields=["project", "version", "refuses_updates", "device"], name="agent_by_version")]

    def __str__(self) -> str:
        return f"agent {self.version} of {self.device}"


class OtherCredential(Separated):
    """A credential accepted beside the current one: the next until its first use, the former for a grace period."""

    project_path = "device__project"

    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="other_credentials")
    sha256 = models.CharField(max_length=64, unique=True, editable=False)
    made_at = models.DateTimeField()
    until = models.DateTimeField(null=True, blank=True, db_index=True)
    """When a former credential ends; null: it is a next one."""

    class Meta:
        ordering = ["made_at", "id"]

    def __str__(self) -> str:
        return f"{'next' if self.until is None else 'former'} credential of {self.device}"


class DeviceAuthority(models.Model):
    """The certificate of a key with which the platform signs, has signed, or will sign those of devices."""

    public_key = models.CharField(max_length=64, unique=True, editable=False)
    """Ed25519, in hexadecimal digits."""
    certificate = models.TextField(editable=False)
    """Self-signed; PEM."""
    made_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "device authorities"

    def __str__(self) -> str:
        return f"{self.public_key[:16]}… of {self.made_at:%F %T}"


class DeviceCertificate(Separated):
    """A certificate issued to a device for its connections (ADR 111); the latest few of each device are stored."""

    project_path = "device__project"

    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="certificates")
    sha256 = models.CharField(max_length=64, unique=True, editable=False)
    """Of the certificate (DER)."""
    public_key = models.CharField(max_length=64, editable=False)
    """Ed25519, in hexadecimal digits."""
    authority = models.ForeignKey(DeviceAuthority, null=True, blank=True, on_delete=models.PROTECT)
    """Null: an operator's own."""
    issued_at = models.DateTimeField()
    until = models.DateTimeField()

    class Meta:
        ordering = ["issued_at", "id"]

    def __str__(self) -> str:
        return f"certificate of {self.device} until {self.until:%F %T}"


class PathSignal(Separated):
    """A signal from one device to another to establish a direct connection; only the receiver can read it."""

    project_path = "receiver__project"

    path = models.CharField(max_length=32)
    sender = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="path_signals_sent")
    receiver = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="path_signals")
    content = models.BinaryField(editable=False)
    """A sealed `coterie_wire.paths.Candidates`."""
    sent_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ["sent_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["path", "sender"], name="one_signal_a_side_of_a_path"),
        ]

    def __str__(self) -> str:
        return f"signal of {self.sender} to {self.receiver}"


class DeviceLatency(Separated):
    """How long one kind of work took on a device in one of its conditions, as last reported."""

    project_path = "device__project"

    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="latencies")
    work = models.CharField(max_length=10)
    """``step`` or ``predict``."""
    form = models.CharField(max_length=40)
    """Which form of the version; ``float32`` is the version itself."""
    charging = models.CharField(max_length=10)
    """``yes``, ``no`` or ``unknown``."""
    version = models.UUIDField()
    """The newest version that was measured."""
    hottest_c = models.FloatField(null=True, blank=True)
    durations = models.JSONField()
    """A `coterie_wire.latency.Histogram`."""
    p50_s = models.FloatField()
    p90_s = models.FloatField()
    p99_s = models.FloatField()
    at = models.DateTimeField()

    class Meta:
        ordering = ["device", "work", "form", "charging"]
        verbose_name_plural = "device latencies"
        constraints = [
            models.UniqueConstraint(fields=["device", "work", "form", "charging"], name="latency_once_a_condition")
        ]
        indexes = [models.Index(fields=["version", "work"], name="latency_of_version")]

    def __str__(self) -> str:
        return f"{self.work} of {self.form} on {self.device}"


class Observation(Separated):
    """The state that a device reported when something had changed."""

    project_path = "device__project"

    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="observations")
    at = models.DateTimeField(db_index=True)
    conditions = models.JSONField()
    blockers = models.JSONField()
    blocked_by = models.CharField(max_length=64, blank=True)
    held_version = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["device", "-at"], name="observation_of_device")]

    def __str__(self) -> str:
        return f"{self.device} at {self.at:%F %T}"


class SigningKeyChange(models.Model):
    """A replacement of the platform's signing key, of which devices that trust the former one are told (ADR 64)."""

    former_key = models.CharField(max_length=64, unique=True)
    """Ed25519 public key, in hexadecimal digits."""
    key = models.CharField(max_length=64, unique=True)
    """The key that replaces it."""
    former_until = models.DateTimeField(null=True, blank=True)
    """Until when devices also accept signatures of the former key; null: not any more."""
    made_at = models.DateTimeField()
    statement = models.BinaryField(editable=False)
    """A `coterie_wire.platform_keys.NextKey`."""
    signature = models.BinaryField(editable=False)
    """Signature of the statement by the former key."""

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.former_key[:16]}… to {self.key[:16]}…"


class FleetSize(models.Model):
    """The number of present devices at the last count; one row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    present = models.PositiveIntegerField()
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "fleet sizes"
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_fleet_size")]

    def __str__(self) -> str:
        return f"{self.present} devices at {self.at:%F %T}"
