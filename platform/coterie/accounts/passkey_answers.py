"""What browsers answer of passkeys."""

from collections.abc import Mapping
from typing import NamedTuple

from coterie.accounts.relying_party import RelyingParty
from coterie.core.errors import CoterieError, ErrorKind

Json = Mapping[str, object]
"""As browsers write it: ``PublicKeyCredential.toJSON`` and its inverse."""


class PasskeyAnswer(NamedTuple):
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
