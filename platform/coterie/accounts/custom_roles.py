"""Everything that changes an organisation's own roles: named sets of actions, given like the built-in roles."""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from coterie.accounts.effective import GIVABLE, actions_in, check_may
from coterie.accounts.models import CustomRole, Organisation
from coterie.audit.recording import audited
from coterie.core.acting import OperatorRole
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.names import checked_name


class CustomRoleNameTaken(CoterieError):
    """Fields: name."""

    code = "accounts.custom_role_name_taken"
    kind = ErrorKind.CONFLICT
    sentence = "There is already a role {name!r}; choose another name."


class ActionNotGivable(CoterieError):
    """Fields: action."""

    code = "accounts.action_not_givable"
    kind = ErrorKind.INVALID
    sentence = "{action!r} is nothing that a role of an organisation may be made of."


class CustomRoleInUse(CoterieError):
    """Fields: name."""

    code = "accounts.custom_role_in_use"
    kind = ErrorKind.CONFLICT
    sentence = "Somebody has the role {name!r}, or single sign-on gives it; take it away first."


@audited("accounts.create_custom_role")
def create_custom_role(*, organisation: Organisation, name: str, actions: Iterable[str], now: datetime) -> CustomRole:
    """A role of `actions`, which nobody has yet.

    Raises BadName, ActionNotGivable, CustomRoleNameTaken, RoleNeeded or RoleTooWide.
    """
    chosen = _givable(actions)
    check_may("accounts.create_custom_role", project=None, organisation=organisation, giving=[chosen])
    role = CustomRole(organisation=organisation, name=name, actions=chosen, made_at=now)
    _save(role)
    return role


@audited("accounts.change_custom_role", subject="role")
def change_custom_role(*, role: CustomRole, name: str | None = None, actions: Iterable[str] | None = None) -> None:
    """Another name, or other actions, for all who have it at once; None: that stays.

    Raises as `create_custom_role`; neither what it was nor what it becomes may be wider than one's own role.
    """
    chosen = sorted(actions_in(role)) if actions is None else _givable(actions)
    check_may(
        "accounts.change_custom_role", project=None, organisation=role.organisation, giving=[actions_in(role), chosen]
    )
    role.name, role.actions = role.name if name is None else name, chosen
    _save(role, columns=[column for column, given in {"name": name, "actions": actions}.items() if given is not None])


@audited("accounts.remove_custom_role", subject="role")
def remove_custom_role(*, role: CustomRole) -> None:
    """Remove a role that nobody has. Raises CustomRoleInUse, RoleNeeded or RoleTooWide."""
    check_may("accounts.remove_custom_role", project=None, organisation=role.organisation, giving=[actions_in(role)])
    try:
        role.delete()
    except ProtectedError as error:
        raise CustomRoleInUse(name=role.name) from error


def _givable(actions: Iterable[str]) -> list[str]:
    chosen = sorted(set(actions))
    for action in chosen:
        if action not in GIVABLE:
            raise ActionNotGivable(action=action)
    return chosen


def _save(role: CustomRole, columns: Collection[str] | None = None) -> None:
    if checked_name(role.name) in list(OperatorRole):
        raise CustomRoleNameTaken(name=role.name)
    try:
        with transaction.atomic():
            role.save(update_fields=columns)
    except IntegrityError as error:
        raise CustomRoleNameTaken(name=role.name) from error
