"""From what a provider says of a person to the operator who signs in: found, let in or refused."""

from datetime import datetime

from django.db import transaction

from coterie.accounts.models import Operator
from coterie.accounts.provider import Claims, Provider
from coterie.accounts.services import OperatorExists, admit_operator, change_operator, link_operator
from coterie.accounts.sign_on_roles import follow_claims, roles_of
from coterie.core.acting import Actor, OperatorRole, acting_as
from coterie.core.errors import CoterieError, ErrorKind

MAX_NAME = 150
MAX_SUBJECT = 500
ACTOR = Actor(kind="system", id="", name="single sign-on", role=OperatorRole.ADMINISTRATOR)


class ProviderUnavailable(CoterieError):
    """Fields: issuer."""

    code = "accounts.provider_unavailable"
    kind = ErrorKind.UNAVAILABLE
    sentence = "{issuer} does not answer as an OpenID Connect provider does; try again, or sign in with a password."


class SignOnRefused(CoterieError):
    """Fields: problem."""

    code = "accounts.sign_on_refused"
    kind = ErrorKind.FORBIDDEN
    sentence = "The provider did not sign you in: {problem}."


class SignOnStale(CoterieError):
    """This browser did not begin the sign-in that the provider answers, or it is over."""

    code = "accounts.sign_on_stale"
    kind = ErrorKind.GONE
    sentence = "This sign-in was not begun in this browser, or is over already; begin anew."


class NoRole(CoterieError):
    """Fields: claim."""

    code = "accounts.no_role"
    kind = ErrorKind.FORBIDDEN
    sentence = "The provider knows you, but nothing in your {claim} gives a role here; ask an administrator for one."


class NameTaken(CoterieError):
    """Fields: username."""

    code = "accounts.sign_on_name_taken"
    kind = ErrorKind.CONFLICT
    sentence = (
        "{username!r} is another account here. If it is yours, have an administrator give it the address that the "
        "provider has verified; the next sign-in then joins the two."
    )


class ShutOut(CoterieError):
    """Fields: username."""

    code = "accounts.shut_out"
    kind = ErrorKind.FORBIDDEN
    sentence = "An administrator has shut {username!r} out."


def sign_on(*, provider: Provider, claims: Claims, now: datetime) -> Operator:
    """The operator whom verified `claims` stand for, with the roles that they give.

    A person is who the provider calls by the same subject; the first time, who has the address that it has verified,
    else somebody new. Raises SignOnRefused, NoRole, RolesAtOdds, NameTaken, ShutOut or LastAdministrator.
    """
    role = provider.role_of(claims)
    in_places = roles_of(provider.values_of(claims))
    if role is None and not in_places:
        raise NoRole(claim=provider.role_claim)
    subject = f"{provider.issuer} {_text(claims, 'sub')}"
    if len(subject) > MAX_SUBJECT:
        raise SignOnRefused(problem="your identifier there is too long")
    with acting_as(ACTOR), transaction.atomic():
        operator = Operator.objects.filter(sign_on_subject=subject).first() or _joined(claims, subject)
        if operator is None:
            operator = _admitted(claims, subject, role)
        elif not operator.is_active:
            raise ShutOut(username=operator.username)
        elif operator.role != (role or ""):
            change_operator(operator=operator, role=role or "")
        follow_claims(operator=operator, roles=in_places, now=now)
    return operator


def _joined(claims: Claims, subject: str) -> Operator | None:
    """The one account with the address that the provider has verified, joined with the subject from now on."""
    email = claims.get("email")
    if not isinstance(email, str) or not email or claims.get("email_verified") is not True:
        return None
    known = list(Operator.objects.filter(email__iexact=email, sign_on_subject=None)[:2])
    if len(known) != 1:
        return None
    link_operator(operator=known[0], subject=subject)
    return known[0]


def _admitted(claims: Claims, subject: str, role: OperatorRole | None) -> Operator:
    email = claims.get("email") if claims.get("email_verified") is True else ""
    username = _text(claims, "preferred_username" if claims.get("preferred_username") else "email")
    if len(username) > MAX_NAME:
        raise SignOnRefused(problem="your name there is too long")
    try:
        return admit_operator(username=username, email=str(email or ""), role=role, subject=subject)
    except OperatorExists as error:
        raise NameTaken(username=username) from error


def _text(claims: Claims, name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not value or "\0" in value:
        raise SignOnRefused(problem=f"it tells no {name} of you")
    return value
