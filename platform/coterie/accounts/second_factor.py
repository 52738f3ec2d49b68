"""A second factor beside the password: codes of an authenticator app (TOTP, RFC 6238), and recovery codes.

A passkey (`passkeys`) is one, too. Nobody who has one is signed in without it, and nobody whose role needs one without
having set it up. A code works once: what is kept is the time step of the last one.
"""

import base64
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime

from cryptography.hazmat.primitives.constant_time import bytes_eq
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.conf import settings
from django.core.cache import cache
from django.db import transaction

from coterie.accounts.models import Operator, RecoveryCode, SecondFactor
from coterie.accounts.passwords import WINDOW_S, WRONG_ALLOWED
from coterie.accounts.roles import every_role
from coterie.audit.recording import check_permitted, record
from coterie.core.counting import count_up
from coterie.core.credentials import hash_secret
from coterie.core.errors import CoterieError, ErrorKind

ISSUER = "Coterie"
SECRET_BYTES = 20
"""As many as SHA-1 gives (RFC 4226, section 4)."""
DIGITS, STEP_S = 6, 30
STEPS_AROUND = (0, -1, 1)
"""Clocks differ by as much (RFC 6238, section 5.2)."""
RECOVERY_CODES = 10
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without what is taken for something else; sixteen of them are 79 bits."""


class WrongCode(CoterieError):
    """No code of the app now, none that was used already, and no recovery code that is left."""

    code = "accounts.wrong_code"
    kind = ErrorKind.FORBIDDEN
    sentence = "That code does not fit, or was used already; wait for the next one."


class TooManyCodes(CoterieError):
    """Fields: wait_s (at most)."""

    code = "accounts.too_many_codes"
    kind = ErrorKind.THROTTLED
    sentence = "Too many wrong codes were given for this account; wait {wait_s} seconds and try again."


class CodeNeeded(CoterieError):
    """Name and password fit, and there is a second factor."""

    code = "accounts.code_needed"
    kind = ErrorKind.FORBIDDEN
    sentence = "Give the code of your authenticator app, or a recovery code, too; passkeys are for the sign-in page."


class SecondFactorNeeded(CoterieError):
    """Fields: role."""

    code = "accounts.second_factor_needed"
    kind = ErrorKind.FORBIDDEN
    sentence = "The role {role} needs a second factor: sign in on the platform's page, which sets it up."


class SecondFactorRequired(CoterieError):
    """Fields: role."""

    code = "accounts.second_factor_required"
    kind = ErrorKind.CONFLICT
    sentence = "The role {role} needs a second factor, so it cannot be taken away; set another one up instead."


class NoSecondFactor(CoterieError):
    """There is none."""

    code = "accounts.no_second_factor"
    kind = ErrorKind.NOT_FOUND
    sentence = "No second factor is set up; begin with that."


def second_factor_of(operator: Operator) -> SecondFactor | None:
    """The app whose codes are asked for at sign-in; None: there is none, or it is not confirmed yet."""
    return SecondFactor.objects.filter(operator=operator, confirmed_at__isnull=False).first()


def has_second_factor(operator: Operator) -> bool:
    """Whether a password alone does not sign the operator in: there is an app, or a passkey."""
    return second_factor_of(operator) is not None or operator.passkeys.exists()


def must_have_one(operator: Operator) -> bool:
    """Whether a role of the operator's, wherever they have it, needs a second factor."""
    return not every_role(operator).isdisjoint(settings.SECOND_FACTOR_FOR)


def begin_second_factor(*, operator: Operator, now: datetime) -> SecondFactor:
    """A new secret for an app; what was set up before goes on until a code of this one confirms it."""
    check_permitted("accounts.set_second_factor")
    with transaction.atomic():
        SecondFactor.objects.filter(operator=operator, confirmed_at=None).delete()
        factor = SecondFactor.objects.create(
            operator=operator, secret=secrets.token_bytes(SECRET_BYTES), created_at=now
        )
        record("accounts.set_second_factor", row=operator, before={}, after={"second_factor": "begun"})
    return factor


def confirm_second_factor(*, operator: Operator, code: str, now: datetime) -> Sequence[str]:
    """Ask for the app's codes from now on; the recovery codes, which are shown this once.

    Raises NoSecondFactor, WrongCode or TooManyCodes.
    """
    check_permitted("accounts.set_second_factor")
    with transaction.atomic():
        begun = SecondFactor.objects.select_for_update(no_key=True).filter(operator=operator, confirmed_at=None).first()
        if begun is None:
            raise NoSecondFactor
        with _counted(operator):
            if not _spend_step(begun, code, now):
                raise WrongCode
        SecondFactor.objects.filter(operator=operator, confirmed_at__isnull=False).delete()
        SecondFactor.objects.filter(pk=begun.pk).update(confirmed_at=now)
        record("accounts.set_second_factor", row=operator, before={}, after={"second_factor": "set up"})
        return new_recovery_codes(operator)


def renew_recovery_codes(*, operator: Operator, code: str, now: datetime) -> Sequence[str]:
    """Others in the place of those there are, shown this once. Raises NoSecondFactor, WrongCode or TooManyCodes."""
    check_permitted("accounts.set_second_factor")
    check_code(operator=operator, code=code, now=now)
    with transaction.atomic():
        record("accounts.set_second_factor", row=operator, before={}, after={"recovery_codes": "renewed"})
        return new_recovery_codes(operator)


def remove_second_factor(*, operator: Operator, code: str, now: datetime) -> None:
    """Ask for no code of the app any more; passkeys stay.

    Raises NoSecondFactor, SecondFactorRequired, WrongCode or TooManyCodes.
    """
    check_permitted("accounts.set_second_factor")
    if second_factor_of(operator) is None:
        raise NoSecondFactor
    if must_have_one(operator) and not operator.passkeys.exists():
        raise SecondFactorRequired(role=operator.role or "in a project")
    check_code(operator=operator, code=code, now=now)
    _remove(operator, "accounts.set_second_factor")


def reset_second_factor(*, operator: Operator) -> None:
    """Take app and passkeys away from who has lost them and the recovery codes. Raises NoSecondFactor."""
    check_permitted("accounts.reset_second_factor")
    if not SecondFactor.objects.filter(operator=operator).exists() and not operator.passkeys.exists():
        raise NoSecondFactor
    with transaction.atomic():
        operator.passkeys.all().delete()
        _remove(operator, "accounts.reset_second_factor")


def check_code(*, operator: Operator, code: str, now: datetime) -> None:
    """Return if it is a code of the app now or a recovery code, and spend it: none works twice.

    Raises NoSecondFactor, WrongCode or TooManyCodes.
    """
    factor = second_factor_of(operator)
    if factor is None and not has_second_factor(operator):
        raise NoSecondFactor
    typed = "".join(code.split()).replace("-", "").lower()
    recovery = RecoveryCode.objects.filter(operator=operator, code_hash=hash_secret(typed), used_at=None)
    with _counted(operator):
        is_of_app = factor is not None and _spend_step(factor, code, now)
        if not is_of_app and not recovery.update(used_at=now):
            raise WrongCode


def new_recovery_codes(operator: Operator) -> Sequence[str]:
    """Others in the place of those there are; to be shown once."""
    RecoveryCode.objects.filter(operator=operator).delete()
    codes = ["".join(secrets.choice(ALPHABET) for _ in range(16)) for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.bulk_create(RecoveryCode(operator=operator, code_hash=hash_secret(code)) for code in codes)
    return ["-".join(code[begin : begin + 4] for begin in range(0, 16, 4)) for code in codes]


def forget_unneeded_recovery_codes(operator: Operator) -> None:
    """Delete them where a password alone signs in again: they stand for what is there no more."""
    if not has_second_factor(operator):
        RecoveryCode.objects.filter(operator=operator).delete()


def provisioning_uri(factor: SecondFactor) -> str:
    """What an app reads from a QR code."""
    return _totp(factor).get_provisioning_uri(factor.operator.username, ISSUER)


def key_of(factor: SecondFactor) -> str:
    """The secret as people type it into an app: base32 in groups of four."""
    text = base64.b32encode(bytes(factor.secret)).decode()
    return " ".join(text[begin : begin + 4] for begin in range(0, len(text), 4))


def _totp(factor: SecondFactor) -> TOTP:
    # SHA-1 and six digits are what every app can do; HMAC does not need collisions to be hard.
    return TOTP(bytes(factor.secret), DIGITS, SHA1(), STEP_S)  # noqa: S303


def _spend_step(factor: SecondFactor, code: str, now: datetime) -> bool:
    typed = "".join(code.split()).encode()
    totp, this_step = _totp(factor), int(now.timestamp()) // STEP_S
    for step in (this_step + around for around in STEPS_AROUND):
        if bytes_eq(totp.generate(step * STEP_S), typed):
            return bool(SecondFactor.objects.filter(pk=factor.pk, last_step__lt=step).update(last_step=step))
    return False


@contextmanager
def _counted(operator: Operator) -> Iterator[None]:
    """Whoever knows the password may not try all codes: an attempt counts unless it succeeds. Raises TooManyCodes."""
    key = f"code-attempts:{operator.pk}"
    if count_up(key, within_s=WINDOW_S) > WRONG_ALLOWED:
        raise TooManyCodes(wait_s=WINDOW_S)
    yield
    with suppress(ValueError):  # the window has ended meanwhile
        cache.decr(key)


@transaction.atomic
def _remove(operator: Operator, action: str) -> None:
    SecondFactor.objects.filter(operator=operator).delete()
    forget_unneeded_recovery_codes(operator)
    record(action, row=operator, before={"second_factor": "set up"}, after={"second_factor": "none"})
