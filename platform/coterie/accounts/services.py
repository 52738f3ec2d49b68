"""Everything that changes operators and API tokens."""

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils.http import urlsafe_base64_encode

from coterie.accounts.models import ApiToken, Operator, SavedFilter
from coterie.accounts.selectors import SIGN_IN_LINKS, SignInLinkInvalid, operator_of_sign_in
from coterie.audit.recording import audited, check_permitted, record
from coterie.core.acting import OperatorRole, Scope, ScopeNeeded, TokenExpires, current_actor
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


class LastAdministrator(CoterieError):
    """Nobody would be left who could let people in."""

    code = "accounts.last_administrator"
    kind = ErrorKind.CONFLICT
    sentence = "{username!r} is the last administrator; make somebody else one first."


class WrongPassword(CoterieError):
    """Name and password do not belong together."""

    code = "accounts.wrong_password"
    kind = ErrorKind.FORBIDDEN
    sentence = "Name and password do not fit."


class WeakPassword(CoterieError):
    """Fields: problem."""

    code = "accounts.weak_password"
    kind = ErrorKind.INVALID
    sentence = "Choose another password: {problem}"


class NewOperator(NamedTuple):
    """An operator and the generated password, which is shown this once."""

    operator: Operator
    password: str


class IssuedToken(NamedTuple):
    """An API token and its secret, which is shown this once."""

    token: ApiToken
    secret: str


@audited("accounts.create_operator")
def create_operator(*, username: str, role: OperatorRole | None = OperatorRole.ADMINISTRATOR) -> NewOperator:
    """A person who may sign in, with a generated password; `role` is in the installation. Raises OperatorExists."""
    password = secrets.token_urlsafe(12)
    return NewOperator(_new_operator(username, role, password=password), password)


@audited("accounts.create_operator")
def invite_operator(*, username: str, role: OperatorRole | None, email: str = "") -> Operator:
    """A person who signs in with a link first and then chooses a password.

    `role` is in the whole installation; None: the person has only the roles that are given them in projects.
    Raises OperatorExists.
    """
    return _new_operator(username, role, email=email)


@audited("accounts.create_operator")
def admit_operator(*, username: str, email: str, role: OperatorRole | None, subject: str) -> Operator:
    """A person whom an OpenID Connect provider has signed in for the first time. Raises OperatorExists."""
    return _new_operator(username, role, email=email, subject=subject)


@audited("accounts.change_operator", subject="operator")
def link_operator(*, operator: Operator, subject: str) -> None:
    """Let an OpenID Connect provider sign the operator in from now on."""
    operator.sign_on_subject = subject
    operator.save(update_fields=["sign_on_subject"])


def _new_operator(
    username: str,
    role: OperatorRole | None,
    *,
    email: str = "",
    password: str | None = None,
    subject: str | None = None,
) -> Operator:
    try:
        with transaction.atomic():
            return Operator.objects.create_user(
                username, email, password, role=role or "", is_staff=role is not None, sign_on_subject=subject
            )
    except IntegrityError as error:
        raise OperatorExists(username=username) from error


@audited("accounts.change_operator", subject="operator")
def change_operator(
    *,
    operator: Operator,
    role: OperatorRole | Literal[""] | None = None,
    is_active: bool | None = None,
    email: str | None = None,
) -> None:
    """Give a person another role in the installation or address, shut them out, or let them in again.

    The role ``""`` leaves them what they have in projects.

    What gives somebody more is only for an API token that may do everything. Raises LastAdministrator.
    """
    # All administrators' rows are held, or two who remove each other at once would leave none.
    administrators = Operator.objects.select_for_update(no_key=True).filter(
        role=OperatorRole.ADMINISTRATOR, is_active=True
    )
    others = [other for other in administrators if other.pk != operator.pk]
    operator.refresh_from_db()
    gains = (
        (role and (not operator.role or OperatorRole(role).rank > OperatorRole(operator.role).rank))
        or (is_active is True and not operator.is_active)
        or (email is not None and email != operator.email)  # a provider that knows the address may sign in with it
    )
    if gains:
        current_actor().require_everything()
    was_one = operator.role == OperatorRole.ADMINISTRATOR and operator.is_active
    operator.role = operator.role if role is None else role
    operator.is_active = operator.is_active if is_active is None else is_active
    operator.email = operator.email if email is None else email
    if was_one and not others and not (operator.role == OperatorRole.ADMINISTRATOR and operator.is_active):
        raise LastAdministrator(username=operator.username)
    operator.is_staff = bool(operator.role)
    operator.save(update_fields=["role", "is_active", "email", "is_staff"])


def change_password(*, operator: Operator, current: str, new: str, by_link: bool = False) -> None:
    """A password of the operator's own choice; their other sessions end. Raises WrongPassword or WeakPassword.

    Who was invited and has none yet, or came by a sign-in link since it was forgotten, need not know it.
    """
    check_permitted("accounts.change_password")
    if operator.has_usable_password() and not by_link and not operator.check_password(current):
        raise WrongPassword
    _set_password(operator, new)


def confirm_password(*, operator: Operator, password: str) -> None:
    """Return if it is the operator's; who has none yet need not know it. Raises WrongPassword."""
    if operator.has_usable_password() and not operator.check_password(password):
        raise WrongPassword


def reset_password(*, operator: Operator, new: str) -> None:
    """Another password for who has forgotten theirs; their sessions end. Raises WeakPassword."""
    check_permitted("accounts.change_password")
    check_permitted("accounts.change_operator")
    _set_password(operator, new)


def _set_password(operator: Operator, new: str) -> None:
    try:
        validate_password(new, operator)
    except ValidationError as error:
        raise WeakPassword(problem=" ".join(error.messages)) from error
    with transaction.atomic():
        operator.set_password(new)
        operator.save(update_fields=["password"])
        record("accounts.change_password", row=operator, before={}, after={"password": "changed"})


@audited("accounts.issue_token")
def issue_token(
    *,
    operator: Operator,
    name: str,
    scopes: Iterable[Scope] = tuple(Scope),
    expires_at: datetime | None = None,
    now: datetime,
) -> IssuedToken:
    """A token with which a program acts as `operator`, within `scopes` and in the project that one acts in now.

    Raises TokenNameTaken, or ScopeNeeded or TokenExpires where a token would make one that may do more than itself, or
    for longer.
    """
    wanted, actor = set(scopes), current_actor()
    for scope in sorted(wanted - actor.scopes):
        raise ScopeNeeded(needed=scope.value, token=actor.token)
    if actor.expires_at is not None and (expires_at is None or expires_at > actor.expires_at):
        raise TokenExpires(token=actor.token)
    secret = new_secret("cot")
    try:
        with transaction.atomic():
            token = ApiToken.objects.create(
                operator=operator,
                name=name,
                scopes=[scope.value for scope in Scope if scope in wanted],
                project_id=actor.project,
                secret_hash=hash_secret(secret),
                created_at=now,
                expires_at=expires_at,
            )
    except IntegrityError as error:
        raise TokenNameTaken(name=name) from error
    return IssuedToken(token, secret)


@audited("accounts.revoke_token", subject="token")
def revoke_token(*, token: ApiToken, now: datetime) -> None:
    """End the token at once. Revoking twice changes nothing."""
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now)
    token.refresh_from_db()


@audited("accounts.save_filter")
def save_filter(*, operator: Operator, table: str, name: str, query: Mapping[str, str]) -> SavedFilter:
    """Keep a table's query under a name; one of the same name is replaced."""
    kept, _ = SavedFilter.objects.update_or_create(
        operator=operator, table=table, name=name, defaults={"query": dict(query)}
    )
    return kept


@audited("accounts.remove_filter", subject="saved")
def remove_filter(*, saved: SavedFilter) -> None:
    """Forget a saved query."""
    saved.delete()


def record_use(*, token: ApiToken, now: datetime) -> None:
    """Remember that the token was used, to the minute: a write for each request would cost more than it tells."""
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_RECORDED_EVERY)
    if token.last_used_at is None or token.last_used_at < now - USE_RECORDED_EVERY:
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


def issue_sign_in_link(*, operator: Operator) -> str:
    """A path as `sign_in_path` makes it, for an administrator to hand on: an invitation, or a forgotten password."""
    check_permitted("accounts.issue_sign_in_link")
    record("accounts.issue_sign_in_link", row=operator, before={}, after={"link": "made"})
    return sign_in_path(operator=operator)


def spend_sign_in_link(link: str) -> Operator:
    """Who the link was made for, who is signed in now; of many who use it at once one is. Raises SignInLinkInvalid."""
    operator = operator_of_sign_in(link)
    unspent = Operator.objects.filter(pk=operator.pk, links_used=operator.links_used)
    if not unspent.update(links_used=F("links_used") + 1):
        raise SignInLinkInvalid
    operator.refresh_from_db()
    return operator


def sign_in_path(*, operator: Operator) -> str:
    """Path that signs `operator` in once; signing in by any means ends it, and so do a new password and time."""
    who = urlsafe_base64_encode(str(operator.pk).encode())
    return f"/sign-in/{who}.{SIGN_IN_LINKS.make_token(operator)}/"
