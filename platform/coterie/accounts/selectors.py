"""The operator or token that a secret belongs to."""

from datetime import datetime

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.utils.http import urlsafe_base64_decode

from coterie.accounts.models import ApiToken, Operator
from coterie.core.credentials import hash_secret
from coterie.core.errors import CoterieError, ErrorKind


class ApiTokenInvalid(CoterieError):
    """No live API token has this secret: unknown, revoked, expired, or its operator may no longer sign in."""

    code = "accounts.token_invalid"
    kind = ErrorKind.UNAUTHENTICATED
    sentence = "This API token is unknown, revoked or expired; create a new one."


def live_token(secret: str, *, now: datetime) -> ApiToken:
    """The token that `secret` is, with its operator. Raises ApiTokenInvalid."""
    token = ApiToken.objects.select_related("operator").filter(secret_hash=hash_secret(secret), revoked_at=None).first()
    if token is None or not token.operator.is_active or (token.expires_at is not None and token.expires_at <= now):
        raise ApiTokenInvalid
    return token


class OperatorUnknown(CoterieError):
    """Nobody has this name."""

    code = "accounts.operator_unknown"
    kind = ErrorKind.NOT_FOUND
    sentence = "There is no operator {username!r}."


class SignInLinks(PasswordResetTokenGenerator):
    """Proofs that a link was made for an operator: any sign-in ends them, a new password does, and time."""

    def _make_hash_value(self, user: AbstractBaseUser, timestamp: int) -> str:
        assert isinstance(user, Operator)
        return f"{super()._make_hash_value(user, timestamp)}{user.links_used}"


SIGN_IN_LINKS = SignInLinks()


class SignInLinkInvalid(CoterieError):
    """The link was used, is too old, or never was one."""

    code = "accounts.sign_in_link_invalid"
    kind = ErrorKind.GONE
    sentence = "This sign-in link was used or has expired; ask for a new one."


def operator_named(username: str) -> Operator:
    """The operator. Raises OperatorUnknown."""
    operator = Operator.objects.filter(username=username).first()
    if operator is None:
        raise OperatorUnknown(username=username)
    return operator


def operator_of_sign_in(link: str) -> Operator:
    """Who the last part of a sign-in path stands for; looking spends nothing. Raises SignInLinkInvalid."""
    who, _, token = link.partition(".")
    try:
        operator = Operator.objects.filter(pk=int(urlsafe_base64_decode(who)), is_active=True).first()
    except ValueError:
        operator = None
    if operator is None or not SIGN_IN_LINKS.check_token(operator, token):
        raise SignInLinkInvalid
    return operator
