"""Passkeys (W3C Web Authentication, level 3): key pairs on people's devices that sign challenges of this platform.

The device asks for a finger, a face or a PIN before it signs, so an answer stands for both factors: it signs in by
itself, and counts as the second factor after a password.
"""

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Q

from coterie.accounts.models import Operator, Passkey
from coterie.accounts.passkey_answers import Json, PasskeyAnswer, PasskeyRefused
from coterie.accounts.passkey_challenges import PasskeyChallengeOver, Purpose, make_challenge, spend_challenge
from coterie.accounts.relying_party import RelyingParty
from coterie.accounts.second_factor import (
    SecondFactorRequired,
    check_code,
    forget_unneeded_recovery_codes,
    must_have_one,
    new_recovery_codes,
    second_factor_of,
)
from coterie.audit.recording import check_permitted, record
from coterie.core.acting import current_actor
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.names import checked_name

if TYPE_CHECKING:
    from webauthn.registration.verify_registration_response import VerifiedRegistration

HANDLE_BYTES = 64
"""As many as a user handle may have (section 5.4.3)."""


class PasskeyUnknown(CoterieError):
    """It was removed here, or is somebody else's."""

    code = "accounts.passkey_unknown"
    kind = ErrorKind.FORBIDDEN
    sentence = "No account here has that passkey; it may have been removed."


class PasskeyCopied(CoterieError):
    """Fields: name."""

    code = "accounts.passkey_copied"
    kind = ErrorKind.FORBIDDEN
    sentence = "The counter of the passkey {name!r} went back, as that of a copy does; remove it and register another."


class PasskeyExists(CoterieError):
    """Fields: name."""

    code = "accounts.passkey_exists"
    kind = ErrorKind.CONFLICT
    sentence = "There is a passkey {name!r} already, or this one was registered before."


class BrowserNeeded(CoterieError):
    """Fields: token."""

    code = "accounts.browser_needed"
    kind = ErrorKind.FORBIDDEN
    sentence = "A person registers a passkey in a browser; the API token {token!r} cannot."


class NewPasskey(NamedTuple):
    """A passkey, and the recovery codes if it is the first second factor; they are shown this once."""

    passkey: Passkey
    recovery_codes: Sequence[str]


def begin_passkey(*, operator: Operator, party: RelyingParty, now: datetime) -> Json:
    """What a browser needs to make a passkey (``PublicKeyCredentialCreationOptions``). Raises BrowserNeeded."""
    _check_browser()
    if operator.passkey_handle is None:
        unknown = Operator.objects.filter(pk=operator.pk, passkey_handle=None)
        unknown.update(passkey_handle=secrets.token_bytes(HANDLE_BYTES))
        operator.refresh_from_db(fields=["passkey_handle"])
    from coterie.accounts import passkey_protocol  # see there

    return passkey_protocol.creation_options(
        party=party,
        handle=_handle_of(operator),
        name=operator.username,
        challenge=make_challenge(purpose=Purpose.REGISTER, operator=operator, now=now),
        known=_credentials(operator),
    )


def add_passkey(*, operator: Operator, name: str, answer: PasskeyAnswer, now: datetime) -> NewPasskey:
    """Let the passkey that a browser has made sign its owner in.

    Raises BrowserNeeded, BadName, PasskeyChallengeOver, PasskeyRefused or PasskeyExists.
    """
    _check_browser()
    checked_name(name)
    verified = _verified_new(operator, answer, now)
    try:
        with transaction.atomic():
            passkey = Passkey.objects.create(
                operator=operator,
                name=name,
                credential=verified.credential_id,
                public_key=verified.credential_public_key,
                sign_count=verified.sign_count,
                created_at=now,
            )
            record("accounts.add_passkey", row=passkey, before={}, after={"name": name})
            has_codes = operator.recovery_codes.exists()
            return NewPasskey(passkey, () if has_codes else new_recovery_codes(operator))
    except IntegrityError as error:
        raise PasskeyExists(name=name) from error


def ask_passkey(*, operator: Operator | None, party: RelyingParty, now: datetime) -> Json:
    """What a browser needs to have a passkey sign (``PublicKeyCredentialRequestOptions``).

    One of `operator`'s; None: whichever the person chooses, who signs in by it.
    """
    from coterie.accounts import passkey_protocol  # see there

    purpose = Purpose.SIGN_IN if operator is None else Purpose.PROVE
    return passkey_protocol.request_options(
        party=party,
        challenge=make_challenge(purpose=purpose, operator=operator, now=now),
        known=() if operator is None else _credentials(operator),
    )


def check_passkey(*, answer: PasskeyAnswer, operator: Operator | None, now: datetime) -> Operator:
    """Whose passkey gave this answer to what `ask_passkey` asked of the same `operator`.

    Raises PasskeyChallengeOver, PasskeyRefused, PasskeyUnknown or PasskeyCopied; the last is recorded.
    """
    from coterie.accounts import passkey_protocol  # see there

    given, client = passkey_protocol.read_authentication(answer.given)
    if answer.challenge not in (None, client.challenge):
        raise PasskeyChallengeOver
    purpose = Purpose.SIGN_IN if operator is None else Purpose.PROVE
    spend_challenge(client.challenge, purpose=purpose, operator=operator, now=now)
    passkey = Passkey.objects.select_related("operator").filter(credential=given.raw_id).first()
    if passkey is None or not passkey.operator.is_active or operator not in (None, passkey.operator):
        raise PasskeyUnknown
    says_whose = operator is None or bool(given.response.user_handle)
    if client.cross_origin or (says_whose and given.response.user_handle != _handle_of(passkey.operator)):
        raise PasskeyRefused
    count = passkey_protocol.signature_count(
        given, challenge=client.challenge, party=answer.party, public_key=bytes(passkey.public_key)
    )
    _count(passkey, count, now)
    return passkey.operator


def remove_passkey(*, passkey: Passkey, code: str, answer: PasskeyAnswer | None, now: datetime) -> None:
    """Let it sign nobody in any more; who asks proves who it is by the answer of a passkey or, without one, by a code.

    Raises SecondFactorRequired, and what `check_code` and `check_passkey` raise.
    """
    check_permitted("accounts.remove_passkey")
    operator = passkey.operator
    is_last = second_factor_of(operator) is None and operator.passkeys.count() == 1
    if is_last and must_have_one(operator):
        raise SecondFactorRequired(role=operator.role or "in a project")
    if answer is None:
        check_code(operator=operator, code=code, now=now)
    else:
        check_passkey(answer=answer, operator=operator, now=now)
    with transaction.atomic():
        record("accounts.remove_passkey", row=passkey, before={"name": passkey.name}, after={})
        passkey.delete()
        forget_unneeded_recovery_codes(operator)


def _check_browser() -> None:
    check_permitted("accounts.add_passkey")
    actor = current_actor()
    if actor.kind == "token":
        raise BrowserNeeded(token=actor.token)


def _verified_new(operator: Operator, answer: PasskeyAnswer, now: datetime) -> "VerifiedRegistration":
    from coterie.accounts import passkey_protocol  # see there

    given, client = passkey_protocol.read_registration(answer.given)
    spend_challenge(client.challenge, purpose=Purpose.REGISTER, operator=operator, now=now)
    if client.cross_origin:
        raise PasskeyRefused
    return passkey_protocol.verified_registration(given, challenge=client.challenge, party=answer.party)


def _count(passkey: Passkey, count: int, now: datetime) -> None:
    """Signatures that the passkey has given; one that does not count says 0 each time (section 6.1.1)."""
    fits = Q(sign_count__lt=count) if count else Q(sign_count=0)
    if Passkey.objects.filter(fits, pk=passkey.pk).update(sign_count=count, last_used_at=now):
        return
    known = Passkey.objects.filter(pk=passkey.pk).values_list("sign_count", flat=True).first()
    record("accounts.refuse_passkey", row=passkey, before={"sign_count": known}, after={"sign_count": count})
    raise PasskeyCopied(name=passkey.name)


def _credentials(operator: Operator) -> list[bytes]:
    return [bytes(credential) for credential in operator.passkeys.values_list("credential", flat=True)]


def _handle_of(operator: Operator) -> bytes:
    assert operator.passkey_handle is not None, "it was given with the first passkey"
    return bytes(operator.passkey_handle)
