"""What this platform and browsers say to each other of passkeys, by the library that knows the standard.

Only `coterie.accounts.passkeys` uses it, and imports it when somebody uses a passkey: with the formats of attestations
the library is a twelfth of what a server loads.
"""

from collections.abc import Sequence

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
    AuthenticationCredential,
    AuthenticatorSelectionCriteria,
    CollectedClientData,
    PublicKeyCredentialDescriptor,
    RegistrationCredential,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)
from webauthn.registration.verify_registration_response import VerifiedRegistration

from coterie.accounts.passkey_answers import Json, PasskeyRefused
from coterie.accounts.passkey_challenges import LASTS
from coterie.accounts.relying_party import RelyingParty
from coterie.accounts.second_factor import ISSUER

TIMEOUT_MS = int(LASTS.total_seconds() * 1000)
MALFORMED = (WebAuthnException, ValueError, TypeError, LookupError, RecursionError)
"""What the library raises of an answer that no authenticator gave."""


def creation_options(
    *, party: RelyingParty, handle: bytes, name: str, challenge: bytes, known: Sequence[bytes]
) -> Json:
    """``PublicKeyCredentialCreationOptions``; who has one of the `known` credentials makes no other on that device."""
    options = generate_registration_options(
        rp_id=party.id,
        rp_name=ISSUER,
        user_id=handle,
        user_name=name,
        challenge=challenge,
        timeout=TIMEOUT_MS,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
        ),
        exclude_credentials=[PublicKeyCredentialDescriptor(id=credential) for credential in known],
    )
    return options_to_json_dict(options)


def request_options(*, party: RelyingParty, challenge: bytes, known: Sequence[bytes]) -> Json:
    """``PublicKeyCredentialRequestOptions`` for one of the `known` credentials; none: whichever the person chooses."""
    options = generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        timeout=TIMEOUT_MS,
        allow_credentials=[PublicKeyCredentialDescriptor(id=credential) for credential in known],
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json_dict(options)


def read_registration(given: str | Json) -> tuple[RegistrationCredential, CollectedClientData]:
    """Nothing of it is verified yet. Raises PasskeyRefused."""
    try:
        credential = parse_registration_credential_json(_json(given))
        return credential, parse_client_data_json(credential.response.client_data_json)
    except MALFORMED as error:
        raise PasskeyRefused from error


def read_authentication(given: str | Json) -> tuple[AuthenticationCredential, CollectedClientData]:
    """Nothing of it is verified yet. Raises PasskeyRefused."""
    try:
        credential = parse_authentication_credential_json(_json(given))
        return credential, parse_client_data_json(credential.response.client_data_json)
    except MALFORMED as error:
        raise PasskeyRefused from error


def verified_registration(
    given: RegistrationCredential, *, challenge: bytes, party: RelyingParty
) -> VerifiedRegistration:
    """Of a new passkey. Raises PasskeyRefused."""
    try:
        return verify_registration_response(
            credential=given,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except MALFORMED as error:
        raise PasskeyRefused from error


def signature_count(
    given: AuthenticationCredential, *, challenge: bytes, party: RelyingParty, public_key: bytes
) -> int:
    """Of the passkey, whose signature fits. Raises PasskeyRefused.

    Whether the count has gone back is for who knows whose passkey it is.
    """
    try:
        verified = verify_authentication_response(
            credential=given,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=public_key,
            credential_current_sign_count=0,
            require_user_verification=True,
        )
    except MALFORMED as error:
        raise PasskeyRefused from error
    return verified.new_sign_count


def _json(given: str | Json) -> str | dict[str, object]:
    return given if isinstance(given, str) else dict(given)
