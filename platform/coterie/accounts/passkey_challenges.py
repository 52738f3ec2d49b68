"""Challenges that passkeys sign: each is good for one answer, of one kind, for minutes."""

import secrets
from datetime import datetime, timedelta

from coterie.accounts.models import Operator, PasskeyChallenge
from coterie.core.errors import CoterieError, ErrorKind

LASTS = timedelta(minutes=5)
CHALLENGE_BYTES = 64
"""At least 16 (section 13.4.3)."""
Purpose = PasskeyChallenge.Purpose


class PasskeyChallengeOver(CoterieError):
    """It was answered already, has grown old, or was made for something or somebody else."""

    code = "accounts.passkey_challenge_over"
    kind = ErrorKind.GONE
    sentence = "The passkey answered too late, or once before; begin again."


def make_challenge(*, purpose: Purpose, operator: Operator | None, now: datetime) -> bytes:
    """Random bytes; `operator` is who shall answer, None: whoever signs in."""
    value = secrets.token_bytes(CHALLENGE_BYTES)
    PasskeyChallenge.objects.create(value=value, purpose=purpose, operator=operator, made_at=now)
    return value


def spend_challenge(value: bytes, *, purpose: Purpose, operator: Operator | None, now: datetime) -> None:
    """Of many who answer at once one gets through. Raises PasskeyChallengeOver."""
    open_ones = PasskeyChallenge.objects.filter(made_at__gt=now - LASTS, made_at__lte=now)
    spent, _ = open_ones.filter(value=value, purpose=purpose, operator=operator).delete()
    if not spent:
        raise PasskeyChallengeOver


def forget_old_challenges(*, now: datetime) -> None:
    """Delete those that nobody answered in time."""
    PasskeyChallenge.objects.filter(made_at__lte=now - LASTS).delete()
