"""Queries on devices, by credential, tag, presence and readiness."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from coterie.core.credentials import hash_secret
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.spans import span
from coterie.fleet.models import Device, DeviceCertificate, OtherCredential
from coterie.fleet.presence import is_present
from coterie_wire.conditions import Reason

PAUSED = Reason("fleet.paused", "an operator has paused this device")
PINNED = Reason("fleet.pinned", "an operator keeps this device on one model version, so it takes no part in rounds")


class CredentialUnknown(CoterieError):
    """No device has this credential."""

    code = "fleet.credential_unknown"
    kind = ErrorKind.UNAUTHENTICATED
    sentence = "No device has this credential; join the fleet again."


class DeviceRevoked(CoterieError):
    """An operator has ended the credential."""

    code = "fleet.revoked"
    kind = ErrorKind.UNAUTHENTICATED
    sentence = "An operator has revoked this device."


class CertificateMissing(CoterieError):
    """A credential alone is not accepted on this platform."""

    code = "fleet.certificate_missing"
    kind = ErrorKind.FORBIDDEN
    sentence = (
        "Devices show a certificate of their own with their credential here: this connection has none, "
        "or the proxy does not pass it on."
    )


class CertificateUnknown(CoterieError):
    """The connection has a certificate that is not the device's."""

    code = "fleet.certificate_unknown"
    kind = ErrorKind.FORBIDDEN
    sentence = "The certificate of this connection is not one of this device's; it has to ask for another one."


class CertificateExpired(CoterieError):
    """Fields: until."""

    code = "fleet.certificate_expired"
    kind = ErrorKind.FORBIDDEN
    sentence = "This device's certificate ended at {until}; it has to ask for another one."


class DeviceLeft(CoterieError):
    """The device itself has ended the credential."""

    code = "fleet.left"
    kind = ErrorKind.UNAUTHENTICATED
    sentence = "This device has left the fleet; join it again."


class Shown(NamedTuple):
    """What a device presents to authenticate."""

    credential: str
    certificate: str = ""
    """SHA-256 of its connection's certificate, in hexadecimal digits; blank: it has none."""

    @property
    def both(self) -> str:
        """Both as one key for limits, so that a stolen credential alone does not use up the device's limit."""
        return f"{self.credential} {self.certificate}"


def device_of(shown: Shown) -> Device:
    """The enrolled device that presents this.

    Raises CredentialUnknown, DeviceRevoked, DeviceLeft, CertificateMissing, CertificateUnknown or CertificateExpired.
    """
    device = devices_that_show([shown])[shown]
    if isinstance(device, CoterieError):
        raise device
    return device


def devices_that_show(shown: Collection[Shown]) -> Mapping[Shown, Device | CoterieError]:
    """For each of `shown` the enrolled device, or what `device_of` would raise."""
    devices = devices_of_credentials({one.credential for one in shown})
    found = {one: devices[one.credential] for one in shown}
    if settings.DEVICE_CERTIFICATES == "off":
        return found
    named = [one.certificate for one in shown if one.certificate]
    rows = DeviceCertificate.objects.filter(sha256__in=named).order_by() if named else ()
    certificates = {row.sha256: row for row in rows}
    now = timezone.now()
    for one, device in found.items():
        if isinstance(device, Device):
            refusal = _refusal(device, one.certificate, certificates.get(one.certificate), now)
            found[one] = device if refusal is None else refusal
    return found


def _refusal(device: Device, shown: str, certificate: DeviceCertificate | None, now: datetime) -> CoterieError | None:
    """Why `device` is not admitted with the certificate of hash `shown`, whose row is given if there is one."""
    if not shown:
        return CertificateMissing() if settings.DEVICE_CERTIFICATES == "required" else None
    if certificate is None or certificate.device_id != device.pk:
        return CertificateUnknown()
    if certificate.until <= now:
        return CertificateExpired(until=certificate.until.isoformat(timespec="minutes"))
    return None


def device_of_credential(credential: str) -> Device:
    """The enrolled device of `credential`, whatever certificate its connection has.

    Raises CredentialUnknown, DeviceRevoked or DeviceLeft.
    """
    device = devices_of_credentials([credential])[credential]
    if isinstance(device, CoterieError):
        raise device
    return device


def devices_of_credentials(credentials: Collection[str]) -> dict[str, Device | CoterieError]:
    """For each of `credentials` its enrolled device, or what `device_of_credential` would raise."""
    by_hash = {hash_secret(credential): credential for credential in credentials}
    found: dict[str, Device | CoterieError] = {credential: CredentialUnknown() for credential in credentials}
    for device in Device.objects.filter(credential_hash__in=list(by_hash)).order_by():
        found[by_hash.pop(device.credential_hash)] = _device_or_refusal(device)
    if by_hash:
        taken = OtherCredential.objects.filter(Q(until=None) | Q(until__gt=timezone.now()), sha256__in=list(by_hash))
        for other in taken.select_related("device"):
            found[by_hash[other.sha256]] = _device_or_refusal(other.device)
    return found


def _device_or_refusal(device: Device) -> Device | CoterieError:
    if device.state == Device.State.REVOKED:
        return DeviceRevoked()
    if device.state == Device.State.LEFT:
        return DeviceLeft()
    return device


@dataclass(frozen=True)
class Holders:
    """Enrolled devices of one project that carry the same tags and hold the same version."""

    project: int
    tags: frozenset[str]
    version: str
    """Its id; blank: they hold none."""
    devices: int

    def belong(self, project: int | None, tag: str) -> bool:
        """Whether they belong to a project and carry `tag` (blank: any)."""
        return self.project == project and (not tag or tag in self.tags)


def holders() -> list[Holders]:
    """All enrolled devices by project, tags and version, in one query for any number of lists."""
    counted = enrolled_devices().order_by().values_list("project", "tags", "held_version").annotate(devices=Count("*"))
    return [Holders(project, frozenset(tags), version, devices) for project, tags, version, devices in counted]


def enrolled_devices(*, tag: str = "") -> QuerySet[Device]:
    """Devices that belong to the fleet; with `tag`, those that carry it."""
    return with_tag(Device.objects.filter(state=Device.State.ENROLLED), tag)


def present_devices(*, now: datetime, tag: str = "") -> QuerySet[Device]:
    """Enrolled devices that have checked in on time."""
    return with_tag(Device.objects.filter(is_present(now)), tag)


def ready_devices(*, now: datetime, tag: str = "") -> QuerySet[Device]:
    """Present devices that would train now, as last reported, and that no operator holds back."""
    return with_tag(Device.objects.filter(is_ready(now)), tag)


def is_ready(now: datetime) -> Q:
    """The filter for devices that are ready."""
    return is_present(now) & Q(blocked_by="", paused_at=None, pinned_version="")


def with_tag(devices: QuerySet[Device], tag: str) -> QuerySet[Device]:
    """The devices that carry `tag`; all if it is empty."""
    if not tag:
        return devices
    # Tags hold no quotes and no capitals, so this is exact, also where SQLite's LIKE ignores case.
    return devices.annotate(tags_text=Cast("tags", TextField())).filter(tags_text__contains=f'"{tag}"')


def why_not_ready(device: Device, *, now: datetime) -> tuple[Reason, ...]:
    """Every reason why `device` could not train now; empty: it is ready."""
    if device.state == Device.State.REVOKED:
        return (Reason(DeviceRevoked.code, DeviceRevoked.sentence),)
    if device.state == Device.State.LEFT:
        return (Reason(DeviceLeft.code, DeviceLeft.sentence),)
    held = held_back(device)
    if device.last_seen_at is None:
        return (*held, Reason("fleet.never_seen", "the device has joined and not checked in yet"))
    if not device.is_present(now):
        ago = round((now - device.last_seen_at).total_seconds())
        return (
            *held,
            Reason(
                "fleet.absent",
                f"the device was last seen {span(ago)} ago and should check in every {span(device.check_in_s)}",
            ),
        )
    return held + device.reported_blockers()


def held_back(device: Device) -> tuple[Reason, ...]:
    """Decisions of an operator, or of the platform, that keep the device out of rounds."""
    rests = (quarantined(device.quarantine) if device.quarantine else PAUSED,) * (device.paused_at is not None)
    return rests + (PINNED,) * bool(device.pinned_version)


def quarantined(why: str) -> Reason:
    """The device is in quarantine until an operator releases it."""
    return Reason("fleet.quarantined", f"this device is in quarantine until an operator releases it: {why}"[:400])
