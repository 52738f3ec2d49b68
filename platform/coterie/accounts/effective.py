"""What people may do in a place: a built-in role and, beyond it, the actions of custom roles."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from coterie.accounts.models import CustomRole, Grant, Operator, Organisation, Project, SignOnRole
from coterie.audit.actions import ACTIONS
from coterie.core.acting import OperatorRole, RoleNeeded, current_actor
from coterie.core.errors import CoterieError, ErrorKind

GIVABLE = tuple(
    name for name, action in ACTIONS.items() if action.needs is not OperatorRole.VIEWER and not action.of_installation
)
"""Actions of which custom roles are made: what every viewer may do is in them anyway."""


class RoleTooWide(CoterieError):
    """Fields: action."""

    code = "accounts.role_too_wide"
    kind = ErrorKind.FORBIDDEN
    sentence = "That role lets people do more there than yours does: {action}."


@dataclass(frozen=True)
class Permissions:
    """What a person may do in a place."""

    role: OperatorRole | None = None
    """The highest; None: there is none."""
    also: frozenset[str] = frozenset()
    """Actions beyond it."""

    @property
    def actions(self) -> frozenset[str]:
        """All that it is enough for."""
        return self.also if self.role is None else actions_of(self.role) | self.also


def actions_of(role: OperatorRole) -> frozenset[str]:
    """What a built-in role is enough for."""
    return frozenset(name for name, action in ACTIONS.items() if action.needs.rank <= role.rank)


def actions_in(role: CustomRole) -> frozenset[str]:
    """What a custom role lets do; a name that an earlier version knew counts for nothing."""
    return frozenset(GIVABLE) & set(role.actions)


def actions_given(grant: Grant | SignOnRole) -> frozenset[str]:
    """What the role that it gives is enough for."""
    custom = frozenset() if grant.custom_role is None else actions_in(grant.custom_role)
    return actions_of(OperatorRole(grant.role)) | custom


def level_of(role: CustomRole) -> OperatorRole:
    """The lowest built-in role that may do all of it."""
    needed = (ACTIONS[name].needs for name in actions_in(role))
    return max(needed, key=lambda needs: needs.rank, default=OperatorRole.VIEWER)


def standing_in(operator: Operator, *, project: Project | None = None, organisation: Organisation) -> Permissions:
    """What the person's roles in the installation, in the organisation and, if one is given, in the project let do."""
    grants = [
        grant
        for grant in operator.grants.select_related("custom_role")
        if grant.organisation_id == organisation.pk or (project is not None and grant.project_id == project.pk)
    ]
    roles = [OperatorRole(role) for role in (operator.role, *(grant.role for grant in grants)) if role]
    also = frozenset[str]().union(*(actions_in(grant.custom_role) for grant in grants if grant.custom_role is not None))
    return Permissions(max(roles, key=lambda role: role.rank, default=None), also)


def acting_standing(*, project: Project | None, organisation: Organisation) -> Permissions:
    """Of whoever acts now: where a grant is given, a token is worth no more than its project."""
    actor = current_actor()
    if actor.kind == "system":
        return Permissions(actor.role)
    if actor.kind == "token" and actor.project is not None:
        is_here = project is not None and project.pk == actor.project
        return Permissions(actor.role, actor.also) if is_here else Permissions()
    operator = Operator.objects.filter(pk=actor.id).first() if actor.id else None
    return Permissions() if operator is None else standing_in(operator, project=project, organisation=organisation)


def check_may(
    action: str, *, project: Project | None, organisation: Organisation, giving: Iterable[Collection[str]] = ()
) -> None:
    """Return if whoever acts now may do `action` there, and everything that is in `giving`.

    An action asks for the role where one acts now; this asks for it where something changes.
    Raises RoleNeeded or RoleTooWide.
    """
    held = acting_standing(project=project, organisation=organisation)
    if action not in held.actions:
        raise RoleNeeded(needed=ACTIONS[action].needs.value, role="none" if held.role is None else held.role.value)
    for name in sorted(set[str]().union(*giving) - held.actions):
        raise RoleTooWide(action=ACTIONS[name].title)
