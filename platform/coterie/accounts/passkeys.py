"""Passkeys (W3C Web Authentication, level 3): key pairs on people's devices that sign challenges of this platform.

The device asks for a finger, a face or a PIN before it signs, so an answer stands for both factors: it signs in by
itself, and counts as the second factor after a password.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Q
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import (
    options_to_json_dict,
    parse_authentication_credential_json,
    parse_client_data_json,
    parse_registration_credential_json,
)
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)
from webauthn.registration.verify_registration_response import VerifiedRegistration

from coterie.accounts.models import Operator, Passkey
from coterie.accounts.passkey_challenges import LASTS, PasskeyChallengeOver, Purpose, make_challenge, spend_challenge
from coterie.accounts.relying_party import RelyingParty
from coterie.accounts.second_factor import (
    ISSUER,
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

HANDLE_BYTES = 64
"""As many as a user handle may have (section 5.4.3)."""
TIMEOUT_MS = int(LASTS.total_seconds() * 1000)
MALFORMED = (WebAuthnException, ValueError, TypeError, LookupError, RecursionError)
"""What the library raises of an answer that no authenticator gave."""

Json = Mapping[str, object]
"""As browsers write it: ``PublicKeyCredential.toJSON`` and its inverse."""


class Answer(NamedTuple):
    """What a browser sent back, and as whom the platform had asked."""

    given: str | Json
    party: RelyingParty
    challenge: bytes | None = None
    """What this browser was asked to have signed; None: whatever its person was asked, in whichever browser."""


class PasskeyRefused(CoterieError):
    """The answer is not one of this platform's passkeys to this challenge."""

    code = "accounts.passkey_refused"
    kind = ErrorKind.FORBIDDEN
    sentence = "That passkey does not fit here, or its device did not check that it is you."


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
    options = generate_registration_options(
        rp_id=party.id,
        rp_name=ISSUER,
        user_id=_handle_of(operator),
        user_name=operator.username,
        challenge=make_challenge(purpose=Purpose.REGISTER, operator=operator, now=now),
        timeout=TIMEOUT_MS,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
        ),
        exclude_credentials=_descriptors(operator),
    )
    return options_to_json_dict(options)


def add_passkey(*, operator: Operator, name: str, answer: Answer, now: datetime) -> NewPasskey:
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
    purpose = Purpose.SIGN_IN if operator is None else Purpose.PROVE
    options = generate_authentication_options(
        rp_id=party.id,
        challenge=make_challenge(purpose=purpose, operator=operator, now=now),
        timeout=TIMEOUT_MS,
        allow_credentials=[] if operator is None else _descriptors(operator),
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json_dict(options)


def check_passkey(*, answer: Answer, operator: Operator | None, now: datetime) -> Operator:
    """Whose passkey gave this answer to what `ask_passkey` asked of the same `operator`.

    Raises PasskeyChallengeOver, PasskeyRefused, PasskeyUnknown or PasskeyCopied; the last is recorded.
    """
    try:
        given = parse_authentication_credential_json(_json(answer))
        client = parse_client_data_json(given.response.client_data_json)
    except MALFORMED as error:
        raise PasskeyRefused from error
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
    try:
        verified = verify_authentication_response(
            credential=given,
            expected_challenge=client.challenge,
            expected_rp_id=answer.party.id,
            expected_origin=answer.party.origin,
            credential_public_key=bytes(passkey.public_key),
            credential_current_sign_count=0,  # compared below, where it is known that the passkey itself says it
            require_user_verification=True,
        )
    except MALFORMED as error:
        raise PasskeyRefused from error
    _count(passkey, verified.new_sign_count, now)
    return passkey.operator


def remove_passkey(*, passkey: Passkey, code: str, answer: Answer | None, now: datetime) -> None:
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


def _verified_new(operator: Operator, answer: Answer, now: datetime) -> VerifiedRegistration:
    try:
        given = parse_registration_credential_json(_json(answer))
        client = parse_client_data_json(given.response.client_data_json)
    except MALFORMED as error:
        raise PasskeyRefused from error
    spend_challenge(client.challenge, purpose=Purpose.REGISTER, operator=operator, now=now)
    if client.cross_origin:
        raise PasskeyRefused
    try:
        return verify_registration_response(
            credential=given,
            expected_challenge=client.challenge,
            expected_rp_id=answer.party.id,
            expected_origin=answer.party.origin,
            require_user_verification=True,
        )
    except MALFORMED as error:
        raise PasskeyRefused from error


def _count(passkey: Passkey, count: int, now: datetime) -> None:
    """Signatures that the passkey has given; one that does not count says 0 each time (section 6.1.1)."""
    fits = Q(sign_count__lt=count) if count else Q(sign_count=0)
    if Passkey.objects.filter(fits, pk=passkey.pk).update(sign_count=count, last_used_at=now):
        return
    known = Passkey.objects.filter(pk=passkey.pk).values_list("sign_count", flat=True).first()
    record("accounts.refuse_passkey", row=passkey, before={"sign_count": known}, after={"sign_count": count})
    raise PasskeyCopied(name=passkey.name)


def _descriptors(operator: Operator) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=bytes(passkey.credential)) for passkey in operator.passkeys.all()]


def _handle_of(operator: Operator) -> bytes:
    assert operator.passkey_handle is not None, "it was given with the first passkey"
    return bytes(operator.passkey_handle)


def _json(answer: Answer) -> str | dict[str, object]:
    return answer.given if isinstance(answer.given, str) else dict(answer.given)
