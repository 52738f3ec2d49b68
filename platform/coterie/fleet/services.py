"""Everything that changes devices and enrolment tokens."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.db import transaction
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Coalesce

from coterie.audit.recording import audited
from coterie.core.credentials import hash_secret, is_drawn_credential, new_secret
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.events import drop_device, notify_consoles, wake_device
from coterie.core.given import save_given
from coterie.core.identity import verify_key
from coterie.core.names import checked_name
from coterie.core.rows import Row, update_each
from coterie.fleet.agents import add_agents, change_agents
from coterie.fleet.kinds import words_of
from coterie.fleet.latencies import record_latencies
from coterie.fleet.models import (
    LONGEST_QUARANTINE_REASON,
    Device,
    DeviceAgent,
    DeviceCertificate,
    EnrolmentToken,
    Observation,
    OtherCredential,
)
from coterie.fleet.observing import CheckedIn, observe, story
from coterie.fleet.presence import end_presence, record_presence
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_wire.messages import Capabilities, CheckIn
from coterie_wire.structs import from_values

SAID_EACH_TIME = ("check_in_s", "by_socket", "conditions", "blockers", "blocked_by", "held_version")
"""Columns that a check-in writes together, where one of them differs."""
CAPABLE_OF = ("capabilities", "lacks", "train_step_s", "trusted_key")
"""Columns that a check-in with capabilities writes together, where one of them differs."""
SAID = (
    *("tags", "notes", "capabilities", "lacks", "conditions", "blockers", "blocked_by", "metadata", "held_version"),
    *("quarantine", "pinned_version", "train_step_s"),
)
"""Columns that hold what the device reported, or operators wrote about it."""
TAG = re.compile(r"[a-z0-9][a-z0-9._:-]{0,49}")
MAX_TAGS = 32


class TokenUnknown(CoterieError):
    """No enrolment token has this secret."""

    code = "fleet.token_unknown"
    kind = ErrorKind.UNAUTHENTICATED
    sentence = "No enrolment token reads like this; copy it again or ask for a new one."


class TokenExpired(CoterieError):
    """The enrolment token's time is over."""

    code = "fleet.token_expired"
    kind = ErrorKind.GONE
    sentence = "The enrolment token expired at {expired_at}; ask for a new one."


class TokenOverAlready(CoterieError):
    """A new enrolment token would have expired before it is given out."""

    code = "fleet.token_over_already"
    kind = ErrorKind.INVALID
    sentence = "{expires_at} is past: say a moment to come until which devices may join with the token."


class TokenUsedUp(CoterieError):
    """As many devices as the enrolment token allows have joined with it."""

    code = "fleet.token_used_up"
    kind = ErrorKind.GONE
    sentence = "The enrolment token allowed {uses_allowed} devices and all have joined; ask for a new one."


class TokenRevoked(CoterieError):
    """An operator has withdrawn the enrolment token."""

    code = "fleet.token_revoked"
    kind = ErrorKind.GONE
    sentence = "An operator has withdrawn the enrolment token; ask for a new one."


class BadTag(CoterieError):
    """A tag that could not be searched for."""

    code = "fleet.bad_tag"
    kind = ErrorKind.INVALID
    sentence = "{tag!r} is no tag: up to 32 of small letters, digits and . _ : - in at most 50 characters each."


class StillEnrolled(CoterieError):
    """Fields: device."""

    code = "fleet.still_enrolled"
    kind = ErrorKind.CONFLICT
    sentence = "Device {device} belongs to the fleet, so it cannot be archived; revoke it first."


class IssuedEnrolmentToken(NamedTuple):
    """A new token and its secret, which is shown only once."""

    token: EnrolmentToken
    secret: str


class EnrolledDevice(NamedTuple):
    """A new device and its credential."""

    device: Device
    credential: str
    """Shown only once, unless the device has drawn it itself."""


def checked_tags(tags: Sequence[str]) -> list[str]:
    """`tags` in order, each once. Raises BadTag."""
    for tag in tags:
        if TAG.fullmatch(tag) is None or len(tags) > MAX_TAGS:
            raise BadTag(tag=tag)
    return sorted(set(tags))


@audited("fleet.create_enrolment_token")
def create_enrolment_token(
    *, label: str, uses_allowed: int = 1, expires_at: datetime, tags: Sequence[str] = (), now: datetime
) -> IssuedEnrolmentToken:
    """Create a token with which `uses_allowed` devices may join until `expires_at`.

    Raises BadTag or TokenOverAlready.
    """
    if expires_at < now:
        raise TokenOverAlready(expires_at=expires_at.isoformat(timespec="minutes"))
    secret = new_secret("coe")
    token = EnrolmentToken.objects.create(
        label=label,
        tags=checked_tags(tags),
        secret_hash=hash_secret(secret),
        uses_allowed=uses_allowed,
        created_at=now,
        expires_at=expires_at,
    )
    return IssuedEnrolmentToken(token, secret)


@audited("fleet.revoke_enrolment_token", subject="token")
def revoke_enrolment_token(*, token: EnrolmentToken, now: datetime) -> None:
    """No more devices join with `token`; those that have stay. Revoking twice changes nothing."""
    EnrolmentToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now)
    token.refresh_from_db()


def token_of(secret: str, *, tokens: QuerySet[EnrolmentToken] | None = None) -> EnrolmentToken:
    """The token of `tokens` (None: of all) with this secret. Raises TokenUnknown."""
    every = EnrolmentToken.objects.all() if tokens is None else tokens
    token = every.filter(secret_hash=hash_secret(secret)).first()
    if token is None:
        raise TokenUnknown
    return token


def check_token(token: EnrolmentToken, *, now: datetime) -> None:
    """Check that another device may join with `token`. Raises TokenRevoked, TokenExpired or TokenUsedUp."""
    if token.revoked_at is not None:
        raise TokenRevoked
    if token.expires_at <= now:
        raise TokenExpired(expired_at=token.expires_at.isoformat(timespec="minutes"))
    if token.uses >= token.uses_allowed:
        raise TokenUsedUp(uses_allowed=token.uses_allowed)


def is_in_use(credential_hash: str) -> bool:
    """Whether a credential is, or was, that of a device."""
    return (
        Device.objects.filter(credential_hash=credential_hash).exists()
        or OtherCredential.objects.filter(sha256=credential_hash).exists()
    )


def device_joined(token: EnrolmentToken, drawn: str) -> Device | None:
    """The enrolled device that joined with `token` and the credential `drawn`; None: there is none."""
    if not is_drawn_credential(drawn):
        return None
    joined = Device.objects.filter(credential_hash=hash_secret(drawn), enrolled_with=token)
    return joined.filter(state=Device.State.ENROLLED).first()


@transaction.atomic
def enrol_device(
    *, secret: str, name: str, capabilities: Capabilities, drawn: str = "", now: datetime
) -> EnrolledDevice:
    """Create a device in the fleet, whose credential is the one that it has `drawn`, if it has (ADR 158).

    With the same token and the same drawn credential the device exists already, as its answer was lost: it is the same
    device, and the token is not used once more.

    Raises BadName, TokenUnknown, TokenRevoked, TokenExpired or TokenUsedUp.
    """
    locked = EnrolmentToken.objects.select_for_update(no_key=True)
    token = token_of(secret, tokens=locked)
    earlier = device_joined(token, drawn)
    if earlier is not None:
        earlier.name = checked_name(name)
        earlier.save(update_fields=["name"])
        return EnrolledDevice(earlier, drawn)
    check_token(token, now=now)
    counted = EnrolmentToken.objects.filter(pk=token.pk, uses__lt=F("uses_allowed")).update(uses=F("uses") + 1)
    if not counted:
        raise TokenUsedUp(uses_allowed=token.uses_allowed)
    credential = drawn if is_drawn_credential(drawn) and not is_in_use(hash_secret(drawn)) else new_secret("cod")
    device = Device.objects.create(
        name=checked_name(name),
        trusted_key=verify_key().hex(),
        tags=token.tags,
        project_id=token.project_id,
        credential_hash=hash_secret(credential),
        enrolled_with=token,
        enrolled_at=now,
        capabilities=msgspec.to_builtins(capabilities),
        lacks=words_of(capabilities),
        train_step_s=capabilities.train_step_s,
    )
    add_agents([(device, capabilities)])
    notify_consoles("fleet")
    announce(
        Event.DEVICE_ENROLLED,
        {"device": str(device.pk), "name": device.name, "tags": device.tags},
        about=device,
        now=now,
    )
    return EnrolledDevice(device, credential)


def apply_check_in(*, device: Device, check_in: CheckIn, now: datetime) -> CheckedIn:
    """Apply the report to `device`; nothing is saved."""
    before = story(device)
    stored = {column: getattr(device, column) for column in (*SAID_EACH_TIME, "metadata", *CAPABLE_OF)}
    device.last_seen_at = now
    device.conditions = msgspec.to_builtins(check_in.conditions)
    device.blockers = msgspec.to_builtins(check_in.blockers)
    device.blocked_by = check_in.blockers[0].code if check_in.blockers else ""
    device.held_version = check_in.version or ""
    if check_in.metadata is not None:
        device.metadata = msgspec.to_builtins(check_in.metadata)
    if check_in.capabilities is not None:
        reported = _with_stored_capabilities(device, check_in.capabilities)
        device.capabilities, device.lacks = msgspec.to_builtins(reported), words_of(reported)
        device.train_step_s = reported.train_step_s
        if reported.platform_key is not None:
            device.trusted_key = reported.platform_key.hex()
    return CheckedIn(device, before, stored, check_in)


def _with_stored_capabilities(device: Device, reported: Capabilities) -> Capabilities:
    """The `reported` capabilities, completed from those stored of the same agent, which reports the rest one check-in
    after its start.

    An agent cannot know at its first check-in whether the platform ignores unknown fields. Consent that samples may
    leave the device is never completed.
    """
    if reported.kinds or reported.agent != device.capabilities.get("agent"):
        return reported
    return msgspec.structs.replace(
        from_values(device.capabilities, Capabilities),
        cores=reported.cores,
        memory_bytes=reported.memory_bytes,
        machine=reported.machine,
        train_step_s=reported.train_step_s,
        asks_platform=reported.asks_platform,
    )


def expect_check_in(*, device: Device, check_in_s: float, by_socket: bool = False) -> None:
    """Set on `device` when it is expected to check in again, and thus how long it is present; nothing is saved.

    It may be woken before, where its check-in came `by_socket`.
    """
    device.by_socket = by_socket
    device.check_in_s = check_in_s


@transaction.atomic
def record_check_ins(*, checked_in: Sequence[CheckedIn], now: datetime) -> None:
    """Save what devices have reported; those that were revoked or have left meanwhile stay as they are."""
    record_presence([one.device for one in checked_in], now=now)
    for columns in (SAID_EACH_TIME, ("metadata",), CAPABLE_OF):
        _store_changed(columns, checked_in)
    change_agents(
        [
            (one.device, from_values(one.device.capabilities, Capabilities))
            for one in checked_in
            if one.check_in.capabilities is not None
        ]
    )
    record_latencies([(one.device, one.check_in.latencies) for one in checked_in if one.check_in.latencies], now=now)
    if observe(checked_in, now=now):
        notify_consoles("fleet")


@audited("fleet.revoke_device", subject="device")
def revoke_device(*, device: Device, now: datetime) -> None:
    """End the device's credential and close its sockets. Revoking twice, or after it has left, changes nothing."""
    _end(device, Device.State.REVOKED, now)


@audited("fleet.pause_device", subject="device")
def pause_device(*, device: Device, now: datetime) -> None:
    """Pause the device until it is resumed: no round invites it. Pausing twice changes nothing."""
    Device.objects.filter(pk=device.pk, state=Device.State.ENROLLED, paused_at=None).update(paused_at=now)
    device.refresh_from_db()
    wake_device(str(device.pk))


@audited("fleet.quarantine_device", subject="device")
def quarantine_device(*, device: Device, why: str, now: datetime) -> None:
    """Pause the device, with a reason, until an operator resumes it; one already paused only gets the reason."""
    waiting = Device.objects.filter(pk=device.pk, state=Device.State.ENROLLED, quarantine="")
    why = why[:LONGEST_QUARANTINE_REASON]
    if waiting.update(quarantine=why, paused_at=Coalesce("paused_at", Value(now))):
        announce(
            Event.DEVICE_QUARANTINED, {"device": str(device.pk), "name": device.name, "why": why}, about=device, now=now
        )
    device.refresh_from_db()
    wake_device(str(device.pk))


@audited("fleet.resume_device", subject="device")
def resume_device(*, device: Device, now: datetime) -> None:
    """Let rounds invite the device again; one in quarantine is released, and what it did before no longer counts."""
    Device.objects.filter(pk=device.pk).exclude(quarantine="").update(quarantine="", trusted_since=now)
    Device.objects.filter(pk=device.pk).update(paused_at=None)
    device.refresh_from_db()
    wake_device(str(device.pk))


@audited("fleet.pin_device", subject="device")
def pin_device(*, device: Device, version: str) -> None:
    """Keep the device on one model version, out of rounds; blank: let it follow its federation again."""
    Device.objects.filter(pk=device.pk).update(pinned_version=version)
    device.refresh_from_db()
    wake_device(str(device.pk))


def leave_fleet(*, device: Device, now: datetime) -> None:
    """The device leaves by itself: its credential ends and its sockets close."""
    _end(device, Device.State.LEFT, now)


@audited("fleet.change_device", subject="device")
def change_device(
    *, device: Device, name: str | None = None, tags: Sequence[str] | None = None, notes: str | None = None
) -> None:
    """Change the device's name, tags or notes; None: unchanged. Raises BadName or BadTag."""
    tags = None if tags is None else checked_tags(tags)
    save_given(device, name=None if name is None else checked_name(name), tags=tags, notes=notes)


@audited("fleet.archive_device", subject="device")
def archive_device(*, device: Device, now: datetime) -> None:
    """Archive a device that was revoked or has left: lists leave it out, its history stays. Raises StillEnrolled."""
    if device.state == Device.State.ENROLLED:
        raise StillEnrolled(device=device.name)
    device.set_archived(now)


@audited("fleet.restore_device", subject="device")
def restore_device(*, device: Device) -> None:
    """Have lists show an archived device again."""
    device.set_archived(None)


@transaction.atomic
def anonymise_device(*, device: Device, now: datetime) -> None:
    """End the device's credential, where it has not ended, and remove what it and others wrote about it.

    The row stays under another name: the privacy ledger, which nobody may change, refers to it.
    """
    _end(device, Device.State.LEFT, now)
    plain = {column.name: column.get_default() for column in Device._meta.concrete_fields if column.name in SAID}
    Device.objects.filter(pk=device.pk).update(name=pseudonym_of(device), enrolled_with=None, **plain)
    Observation.objects.filter(device=device).delete()
    DeviceCertificate.objects.filter(device=device).delete()
    device.refresh_from_db()
    notify_consoles("fleet")


def pseudonym_of(device: Device) -> str:
    """The name of a device that was forgotten."""
    return f"forgotten {str(device.pk)[:8]}"


@transaction.atomic
def _end(device: Device, state: Device.State, now: datetime) -> None:
    end_presence(device)
    if Device.objects.filter(pk=device.pk, state=Device.State.ENROLLED).update(state=state, ended_at=now):
        DeviceAgent.objects.filter(device=device).delete()
        announce(
            Event.DEVICE_ENDED,
            {"device": str(device.pk), "name": device.name, "state": state.value},
            about=device,
            now=now,
        )
    device.refresh_from_db()
    drop_device(str(device.pk))
    notify_consoles("fleet")


def _store_changed(columns: Sequence[str], checked_in: Sequence[CheckedIn]) -> None:
    """Write `columns` of those devices where one of them differs from what is stored."""
    rows = []
    for device, _, stored, _ in checked_in:
        values = [getattr(device, column) for column in columns]
        if _as_stored(values) != _as_stored([stored[column] for column in columns]):
            rows.append(Row(device.pk, values))
    update_each(Device, columns, rows, where={"state": Device.State.ENROLLED})


def _as_stored(values: Sequence[object]) -> bytes:
    """The same for a tuple and the list that a database makes of it, in whatever order it gives back what has names."""
    return msgspec.json.encode(values, order="sorted")
