"""Everything that changes devices and enrolment tokens."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce

from coterie.audit.recording import audited
from coterie.core.credentials import hash_secret, new_secret
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.events import drop_device, tell_consoles, wake_device
from coterie.core.identity import verify_key
from coterie.core.rows import Row, update_each
from coterie.fleet.kinds import words_of
from coterie.fleet.models import LONGEST_PRESENCE, LONGEST_QUARANTINE_REASON, Device, EnrolmentToken
from coterie.fleet.observing import CheckedIn, observe, story
from coterie_wire.messages import Capabilities, CheckIn

MISSED_CHECK_INS = 2.5
"""A device counts as present until it has missed this many check-ins in a row."""
SAID_EACH_TIME = (
    "last_seen_at",
    "present_until",
    "check_in_s",
    "conditions",
    "blockers",
    "blocked_by",
    "held_version",
)
"""Columns that every check-in writes."""
TAG = re.compile(r"[a-z0-9][a-z0-9._:-]{0,49}")
MAX_TAGS = 32
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What breaks lines or steers a terminal (C0 and C1), turns the direction of text (UAX 9), or is half a character."""


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


class BadName(CoterieError):
    """A name that could mislead whoever reads it in a list or a log. Fields: name, character."""

    code = "fleet.bad_name"
    kind = ErrorKind.INVALID
    sentence = "{name} is no name for a device: it holds the control character {character}; leave it out."


class IssuedEnrolmentToken(NamedTuple):
    """A new token and its secret, which is shown this once."""

    token: EnrolmentToken
    secret: str


class EnrolledDevice(NamedTuple):
    """A new device and its credential, which is shown this once."""

    device: Device
    credential: str


def checked_tags(tags: Sequence[str]) -> list[str]:
    """`tags` in order, each once. Raises BadTag."""
    for tag in tags:
        if TAG.fullmatch(tag) is None or len(tags) > MAX_TAGS:
            raise BadTag(tag=tag)
    return sorted(set(tags))


def checked_name(name: str) -> str:
    """`name`, which stays on its line. Raises BadName."""
    found = CONTROL.search(name)
    if found is not None:
        raise BadName(name=ascii(name), character=f"U+{ord(found.group()):04X}")
    return name


@audited("fleet.create_enrolment_token")
def create_enrolment_token(
    *, label: str, uses_allowed: int = 1, expires_at: datetime, tags: Sequence[str] = (), now: datetime
) -> IssuedEnrolmentToken:
    """A token with which `uses_allowed` devices may join until `expires_at`. Raises BadTag."""
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


@transaction.atomic
def enrol_device(*, secret: str, name: str, capabilities: Capabilities, now: datetime) -> EnrolledDevice:
    """A new device in the fleet. Raises BadName, TokenUnknown, TokenRevoked, TokenExpired or TokenUsedUp."""
    token = EnrolmentToken.objects.select_for_update().filter(secret_hash=hash_secret(secret)).first()
    if token is None:
        raise TokenUnknown
    if token.revoked_at is not None:
        raise TokenRevoked
    if token.expires_at <= now:
        raise TokenExpired(expired_at=token.expires_at.isoformat(timespec="minutes"))
    counted = EnrolmentToken.objects.filter(pk=token.pk, uses__lt=F("uses_allowed")).update(uses=F("uses") + 1)
    if not counted:
        raise TokenUsedUp(uses_allowed=token.uses_allowed)
    credential = new_secret("cod")
    device = Device.objects.create(
        name=checked_name(name),
        trusted_key=verify_key().hex(),
        tags=token.tags,
        credential_hash=hash_secret(credential),
        enrolled_with=token,
        enrolled_at=now,
        capabilities=msgspec.to_builtins(capabilities),
        lacks=words_of(capabilities),
        train_step_s=capabilities.train_step_s,
    )
    tell_consoles("fleet")
    return EnrolledDevice(device, credential)


def take_in(*, device: Device, check_in: CheckIn, now: datetime) -> CheckedIn:
    """Set on `device` what it reports; nothing is saved."""
    before = story(device)
    device.last_seen_at = now
    device.conditions = msgspec.to_builtins(check_in.conditions)
    device.blockers = msgspec.to_builtins(check_in.blockers)
    device.blocked_by = check_in.blockers[0].code if check_in.blockers else ""
    device.held_version = check_in.version or ""
    if check_in.metadata is not None:
        device.metadata = msgspec.to_builtins(check_in.metadata)
    if check_in.capabilities is not None:
        reported = _with_known_kinds(device, check_in.capabilities)
        device.capabilities, device.lacks = msgspec.to_builtins(reported), words_of(reported)
        device.train_step_s = reported.train_step_s
    return CheckedIn(device, before, check_in)


def _with_known_kinds(device: Device, reported: Capabilities) -> Capabilities:
    """What is `told`, with the kinds known of the same agent: after each start it reports them one check-in later."""
    if reported.kinds or reported.agent != device.capabilities.get("agent"):
        return reported
    return msgspec.structs.replace(reported, kinds=device.capabilities.get("kinds", {}))


def expect_check_in(*, device: Device, check_in_s: float) -> None:
    """Set on `device` when it is expected to check in again, and so how long it is present; nothing is saved."""
    assert device.last_seen_at is not None, "it has taken in a report"
    device.check_in_s = check_in_s
    device.present_until = device.last_seen_at + min(timedelta(seconds=MISSED_CHECK_INS * check_in_s), LONGEST_PRESENCE)


@transaction.atomic
def record_check_ins(*, checked_in: Sequence[CheckedIn], now: datetime) -> None:
    """Save what devices have reported; those that were revoked or have left meanwhile stay as they are."""
    _keep(SAID_EACH_TIME, [device for device, _, _ in checked_in])
    _keep(("metadata",), [device for device, _, check_in in checked_in if check_in.metadata is not None])
    reported = [device for device, _, check_in in checked_in if check_in.capabilities is not None]
    _keep(("capabilities", "lacks", "train_step_s"), reported)
    if observe(checked_in, now=now):
        tell_consoles("fleet")


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
    """Let no round ask the device until an operator resumes it; one that rests already only gets the reason."""
    waiting = Device.objects.filter(pk=device.pk, state=Device.State.ENROLLED, quarantine="")
    waiting.update(quarantine=why[:LONGEST_QUARANTINE_REASON], paused_at=Coalesce("paused_at", Value(now)))
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
def change_device(*, device: Device, name: str | None = None, tags: Sequence[str] | None = None) -> None:
    """Rename the device, tag it anew, or both. Raises BadName or BadTag."""
    if name is not None:
        device.name = checked_name(name)
    if tags is not None:
        device.tags = checked_tags(tags)
    device.save(update_fields=["name", "tags"])


@transaction.atomic
def _end(device: Device, state: Device.State, now: datetime) -> None:
    Device.objects.filter(pk=device.pk, state=Device.State.ENROLLED).update(state=state, ended_at=now)
    device.refresh_from_db()
    drop_device(str(device.pk))
    tell_consoles("fleet")


def _keep(columns: Sequence[str], devices: Sequence[Device]) -> None:
    rows = [Row(device.pk, [getattr(device, column) for column in columns]) for device in devices]
    update_each(Device, columns, rows, where={"state": Device.State.ENROLLED})
