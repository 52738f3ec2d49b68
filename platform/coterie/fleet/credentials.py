"""Renewal of a device's credential, which the device draws itself without joining again (ADR 72).

The platform receives only hashes. A next credential is accepted beside the current one until a check-in uses it; then
it becomes the device's, and the former one ends after a grace period. So whichever side is killed, and whichever
message is repeated, the credential that the device holds is accepted.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from coterie.audit.recording import audited
from coterie.core.credentials import hash_secret
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.events import drop_device, notify_consoles, wake_device
from coterie.fleet.models import CredentialRenewal, Device, OtherCredential
from coterie.fleet.selectors import enrolled_devices
from coterie.fleet.services import checked_tags, is_in_use

GRACE = timedelta(days=1)
"""How long the former credential is still accepted: uploads and sockets that began with it continue."""
MAX_WAITING = 3
"""Next credentials of a device that are accepted at the same time: a device may have lost one that it drew."""
APART_S = 10
"""Least seconds between two offers of a device."""
EARLIEST = 0.9
"""Share of the period after which devices begin to renew, so that a fleet that joined in a day does not in one."""
FORGOTTEN_AT_ONCE = 5_000


class NotDue(CoterieError):
    """A device offers a credential although no renewal is due."""

    code = "fleet.renewal_not_due"
    kind = ErrorKind.CONFLICT
    sentence = "This device is not to renew its credential now; the answer to a check-in says when."


class CredentialInUse(CoterieError):
    """The hash that a device offers exists already."""

    code = "fleet.credential_in_use"
    kind = ErrorKind.CONFLICT
    sentence = "This credential is, or was, in use; draw another one."


class OfferedTooOften(CoterieError):
    """Fields: wait_s."""

    code = "fleet.credentials_too_often"
    kind = ErrorKind.THROTTLED
    sentence = "This device has just offered another credential; use that one, or wait {wait_s} s."


def can_renew_credential(device: Device) -> bool:
    """Whether its agent can renew its credential, as it reports."""
    return "renews" in device.capabilities


def renewable() -> Q:
    """The filter for devices whose agent can renew its credential."""
    return Q(capabilities__has_key="renews")


def is_renewal_due(device: Device, *, now: datetime) -> bool:
    """Whether the device should renew its credential: by an operator's order, or by the age of the current one."""
    if device.renewal_id is not None:
        return True
    if not settings.CREDENTIAL_DAYS:
        return False
    share = EARLIEST + (1 - EARLIEST) * (device.pk.int % 1000) / 1000
    return now >= (device.credential_since or device.enrolled_at) + timedelta(days=settings.CREDENTIAL_DAYS) * share


@audited("fleet.renew_credential", subject="device")
def renew_credential(*, device: Device, leaked: bool, now: datetime) -> None:
    """Have the device renew its credential, at once where it is connected, else at its next check-in.

    `leaked`: the former one is refused as soon as the next is used. Not for a device that was revoked or has left:
    nothing changes there.
    """
    if device.state == Device.State.ENROLLED:
        order = CredentialRenewal.objects.create(project_id=device.project_id, leaked=leaked, devices=1, ordered_at=now)
        Device.objects.filter(pk=device.pk).update(renewal=order)
        wake_device(str(device.pk))
    device.refresh_from_db()


@audited("fleet.renew_credentials")
def renew_credentials(*, tag: str = "", leaked: bool, now: datetime) -> CredentialRenewal:
    """Have all enrolled devices that carry `tag` (blank: the whole fleet) renew their credentials as they check in.

    Raises BadTag.
    """
    devices = enrolled_devices(tag="".join(checked_tags([tag] if tag else [])))
    order = CredentialRenewal.objects.create(tag=tag, leaked=leaked, devices=0, ordered_at=now)
    order.devices = Device.objects.filter(pk__in=devices.order_by().values("pk")).update(renewal=order)
    order.save(update_fields=["devices"])
    return order


@transaction.atomic
def offer_credential(*, device: Device, sha256: str, now: datetime) -> None:
    """Accept the credential with this hash, too, until a check-in uses it; offering the same again changes nothing.

    Raises NotDue, CredentialInUse or OfferedTooOften.
    """
    device = Device.objects.select_for_update(no_key=True).get(pk=device.pk)
    waiting = list(OtherCredential.objects.filter(device=device, until=None).order_by("made_at", "pk"))
    if sha256 == device.credential_hash or any(one.sha256 == sha256 for one in waiting):
        return
    if not is_renewal_due(device, now=now):
        raise NotDue
    if is_in_use(sha256):
        raise CredentialInUse
    if waiting and (passed_s := (now - waiting[-1].made_at).total_seconds()) < APART_S:
        raise OfferedTooOften(wait_s=max(1, round(APART_S - passed_s)))
    for oldest in waiting[: len(waiting) - MAX_WAITING + 1]:
        oldest.delete()
    OtherCredential.objects.create(device=device, sha256=sha256, made_at=now)


def activate_shown(*, device: Device, credential: str, now: datetime) -> None:
    """Make `credential`, with which `device` has checked in, its current one, where it is a next one."""
    sha256 = hash_secret(credential)
    if sha256 != device.credential_hash:
        _activate(device=device, sha256=sha256, now=now)


@audited("fleet.take_over_credential", subject="device")
def _activate(*, device: Device, sha256: str, now: datetime) -> None:
    present = Device.objects.select_for_update(of=("self",), no_key=True).select_related("renewal").get(pk=device.pk)
    others = OtherCredential.objects.filter(device=present)
    shown = others.filter(sha256=sha256, until=None).first()
    if shown is None:
        return  # a former one in its grace period, or another request was quicker
    order = present.renewal
    leaked = order is not None and order.leaked
    is_followed = order is None or shown.made_at >= order.ordered_at  # one that was drawn before leaked with the others
    (others if leaked else others.filter(until=None)).delete()
    if not leaked:
        OtherCredential.objects.create(device=present, sha256=present.credential_hash, made_at=now, until=now + GRACE)
    device.credential_hash, device.credential_since = sha256, now
    device.renewal = None if is_followed else order
    device.save(update_fields=["credential_hash", "credential_since", "renewal"])
    if leaked:
        drop_device(str(device.pk))  # closes sockets of the former one
    notify_consoles("fleet")


def waiting_for(order: CredentialRenewal) -> QuerySet[Device]:
    """The devices that have not followed an order yet."""
    return enrolled_devices().filter(renewal=order)


def delete_former(*, now: datetime) -> None:
    """Delete the hashes of former credentials whose grace period is over; some at a time."""
    over = OtherCredential.objects.filter(until__lt=now).order_by()
    OtherCredential.objects.filter(pk__in=list(over.values_list("pk", flat=True)[:FORGOTTEN_AT_ONCE])).delete()
