"""Roles in projects and organisations that the claims of an OpenID Connect provider give: which, and to whom."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from django.db import IntegrityError, transaction

from coterie.accounts.effective import actions_given
from coterie.accounts.models import CustomRole, Grant, Operator, Organisation, Project, SignOnRole
from coterie.accounts.projects import columns_of, give_role, take_role
from coterie.audit.recording import audited
from coterie.core.acting import OperatorRole
from coterie.core.errors import CoterieError, ErrorKind

Role = OperatorRole | CustomRole
Place = Organisation | Project


class ClaimMapped(CoterieError):
    """Fields: claim_value, place."""

    code = "accounts.claim_mapped"
    kind = ErrorKind.CONFLICT
    sentence = "{claim_value!r} already gives a role in {place}; remove that first."


class RolesAtOdds(CoterieError):
    """Fields: first, second, place. A person has one role in a place, and neither of the two includes the other."""

    code = "accounts.roles_at_odds"
    kind = ErrorKind.CONFLICT
    sentence = (
        "Your {first!r} and {second!r} at the provider give two roles in {place} of which neither includes the other. "
        "Ask an administrator to make one role of both, and to have one of the two give it."
    )


@audited("accounts.map_claim")
def map_claim(*, claim_value: str, role: Role, to: Place, now: datetime) -> SignOnRole:
    """Whoever signs in with `claim_value` has the role there from then on. Raises RoleOfOther or ClaimMapped."""
    placed = columns_of(role, to)
    try:
        with transaction.atomic():
            return SignOnRole.objects.create(claim_value=claim_value, **placed.place, **placed.role, made_at=now)
    except IntegrityError as error:
        raise ClaimMapped(claim_value=claim_value, place=str(to)) from error


@audited("accounts.unmap_claim", subject="mapped")
def unmap_claim(*, mapped: SignOnRole) -> None:
    """Who has the role by it keeps it until they sign in again."""
    mapped.delete()


def roles_of(claim_values: Collection[str]) -> Mapping[Place, Role]:
    """What the values of a person's claim give, by place: of several roles in one, that which includes the others.

    Raises RolesAtOdds where none does.
    """
    given: dict[Place, list[SignOnRole]] = {}
    known = SignOnRole.objects.select_related("organisation", "project__organisation", "custom_role")
    for mapped in known.filter(claim_value__in=claim_values):
        given.setdefault(_place_of(mapped), []).append(mapped)
    return {place: _role_of(_widest(roles, place)) for place, roles in given.items()}


def _widest(roles: Sequence[SignOnRole], place: Place) -> SignOnRole:
    wide = max(roles, key=lambda mapped: len(actions_given(mapped)))
    for other in roles:
        if not actions_given(other) <= actions_given(wide):
            raise RolesAtOdds(first=wide.claim_value, second=other.claim_value, place=str(place))
    return wide


def follow_claims(*, operator: Operator, roles: Mapping[Place, Role], now: datetime) -> None:
    """Give `roles`, and take away those that claims gave before and give no more; what people gave elsewhere stays."""
    held: dict[Place, Role] = {}
    for grant in operator.grants.select_related("organisation", "project__organisation", "custom_role"):
        place = _place_of(grant)
        if grant.by_sign_on and place not in roles:
            take_role(grant=grant)
        else:
            held[place] = _role_of(grant)
    for place, role in roles.items():
        if held.get(place) != role:
            give_role(operator=operator, role=role, to=place, by_sign_on=True, now=now)


def _place_of(given: Grant | SignOnRole) -> Place:
    place = given.project or given.organisation
    assert place is not None, "a role is in one of them"
    return place


def _role_of(given: Grant | SignOnRole) -> Role:
    return given.custom_role or OperatorRole(given.role)
