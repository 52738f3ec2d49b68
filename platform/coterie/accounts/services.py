"""Everything that changes operators and API tokens."""

import secrets
from datetime import datetime, timedelta
from typing import NamedTuple

from django.contrib.auth.tokens import default_token_generator
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.http import urlsafe_base64_encode

from coterie.accounts.models import ApiToken, Operator
from coterie.core.credentials import hash_secret, new_secret
from coterie.core.errors import CoterieError, ErrorKind

USE_RECORDED_EVERY = timedelta(minutes=1)


class OperatorExists(CoterieError):
    """The name is taken."""

    code = "accounts.operator_exists"
    kind = ErrorKind.CONFLICT
    sentence = "There is already an operator {username!r}."


class TokenNameTaken(CoterieError):
    """The operator has a live token of this name."""

    code = "accounts.token_name_taken"
    kind = ErrorKind.CONFLICT
    sentence = "There is already a token {name!r}; revoke it or choose another name."


class NewOperator(NamedTuple):
    """An operator and the generated password, which is shown this once."""

    operator: Operator
    password: str


class IssuedToken(NamedTuple):
    """An API token and its secret, which is shown this once."""

    token: ApiToken
    secret: str


@transaction.atomic
def create_operator(*, username: str) -> NewOperator:
    """An operator who may do everything, with a generated password. Raises OperatorExists."""
    if Operator.objects.filter(username=username).exists():
        raise OperatorExists(username=username)
    password = secrets.token_urlsafe(12)
    return NewOperator(Operator.objects.create_superuser(username, password=password), password)


@transaction.atomic
def issue_token(*, operator: Operator, name: str, expires_at: datetime | None = None, now: datetime) -> IssuedToken:
    """A token with which a program acts as `operator`. Raises TokenNameTaken."""
    secret = new_secret("cot")
    try:
        with transaction.atomic():
            token = ApiToken.objects.create(
                operator=operator, name=name, secret_hash=hash_secret(secret), created_at=now, expires_at=expires_at
            )
    except IntegrityError as error:
        raise TokenNameTaken(name=name) from error
    return IssuedToken(token, secret)


@transaction.atomic
def revoke_token(*, token: ApiToken, now: datetime) -> None:
    """End the token at once. Revoking twice changes nothing."""
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now)
    token.refresh_from_db()


def record_use(*, token: ApiToken, now: datetime) -> None:
    """Remember that the token was used, to the minute: a write for each request would cost more than it tells."""
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_RECORDED_EVERY)
    if token.last_used_at is None or token.last_used_at < now - USE_RECORDED_EVERY:
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


def sign_in_path(*, operator: Operator) -> str:
    """Path that signs `operator` in once; signing in by any means ends it, and so do a new password and time."""
    who = urlsafe_base64_encode(str(operator.pk).encode())
    return f"/sign-in/{who}.{default_token_generator.make_token(operator)}/"
