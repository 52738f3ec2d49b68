"""Everything that changes organisations, projects and the roles of people in them."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from django.db import IntegrityError, transaction

from coterie.accounts.effective import actions_given, actions_in, actions_of, check_may
from coterie.accounts.models import CustomRole, Grant, Operator, Organisation, Project
from coterie.audit.recording import audited
from coterie.core.acting import OperatorRole
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.names import checked_name


class PlaceNameTaken(CoterieError):
    """Fields: name."""

    code = "accounts.place_name_taken"
    kind = ErrorKind.CONFLICT
    sentence = "There is already {name!r}; choose another name."


class LastProject(CoterieError):
    """Fields: name."""

    code = "accounts.last_project"
    kind = ErrorKind.CONFLICT
    sentence = "{name!r} has the only project that is left; make another one first."


class RoleOfOther(CoterieError):
    """Fields: name, organisation."""

    code = "accounts.role_of_other_organisation"
    kind = ErrorKind.CONFLICT
    sentence = "{organisation!r} has no role {name!r}; make one there."


@audited("accounts.create_organisation")
def create_organisation(*, name: str, now: datetime) -> Organisation:
    """An organisation without projects. Raises BadName or PlaceNameTaken."""
    try:
        with transaction.atomic():
            return Organisation.objects.create(name=checked_name(name), created_at=now)
    except IntegrityError as error:
        raise PlaceNameTaken(name=name) from error


@audited("accounts.change_organisation", subject="organisation")
def change_organisation(
    *, organisation: Organisation, name: str | None = None, archived: bool | None = None, now: datetime
) -> None:
    """Rename it, archive it with all its projects, or take it back; None: that stays.

    Raises BadName, PlaceNameTaken or LastProject.
    """
    _change(organisation, name, archived, now)


@audited("accounts.create_project")
def create_project(*, organisation: Organisation, name: str, now: datetime) -> Project:
    """A project of an organisation, without rows. Raises BadName, PlaceNameTaken or RoleNeeded."""
    check_may("accounts.create_project", project=None, organisation=organisation)
    try:
        with transaction.atomic():
            return Project.objects.create(organisation=organisation, name=checked_name(name), created_at=now)
    except IntegrityError as error:
        raise PlaceNameTaken(name=name) from error


@audited("accounts.change_project", subject="project")
def change_project(*, project: Project, name: str | None = None, archived: bool | None = None, now: datetime) -> None:
    """Rename it, archive it, or take it back; None: that stays. What is in it goes on.

    Nobody acts in a project that is archived, and its API tokens are refused until it is taken back.
    Raises BadName, PlaceNameTaken, LastProject or RoleNeeded.
    """
    check_may("accounts.change_project", project=project, organisation=project.organisation)
    _change(project, name, archived, now)


@audited("accounts.give_role")
def give_role(
    *,
    operator: Operator,
    role: OperatorRole | CustomRole,
    to: Organisation | Project,
    by_sign_on: bool = False,
    now: datetime,
) -> Grant:
    """A role in one project, or in all of an organisation, instead of any that the person has there.

    `by_sign_on`: a claim of the provider gives it, and takes it away.
    Raises RoleNeeded, RoleOfOther, or RoleTooWide where the new role or the old is wider than one's own.
    """
    project, organisation = _place(to)
    placed = columns_of(role, to)
    actions = actions_in(role) if isinstance(role, CustomRole) else actions_of(role)
    old = [actions_given(grant) for grant in Grant.objects.filter(operator=operator, **placed.place)]
    check_may("accounts.give_role", project=project, organisation=organisation, giving=[actions, *old])
    grant, _ = Grant.objects.update_or_create(
        operator=operator,
        **placed.place,  # type: ignore[arg-type]  # columns, none of which is called "defaults"
        defaults={**placed.role, "by_sign_on": by_sign_on, "given_at": now},
    )
    return grant


@audited("accounts.take_role", subject="grant")
def take_role(*, grant: Grant) -> None:
    """Take a role away. Raises RoleNeeded or RoleTooWide."""
    place = grant.project or grant.organisation
    assert place is not None, "a grant is in one of them"
    project, organisation = _place(place)
    check_may("accounts.take_role", project=project, organisation=organisation, giving=[actions_given(grant)])
    grant.delete()


class PlacedRole(NamedTuple):
    """A role in a place, as the columns of a `Grant` or a `SignOnRole`."""

    place: Mapping[str, Organisation | Project]
    role: Mapping[str, OperatorRole | CustomRole | None]


def columns_of(role: OperatorRole | CustomRole, to: Organisation | Project) -> PlacedRole:
    """A built-in role, or a custom one of the organisation that `to` is or is in. Raises RoleOfOther."""
    project, organisation = _place(to)
    place: Mapping[str, Organisation | Project] = {"organisation": to} if project is None else {"project": project}
    if not isinstance(role, CustomRole):
        return PlacedRole(place, {"role": role, "custom_role": None})
    if role.organisation_id != organisation.pk:
        raise RoleOfOther(name=role.name, organisation=organisation.name)
    return PlacedRole(place, {"role": OperatorRole.VIEWER, "custom_role": role})


def _place(to: Organisation | Project) -> tuple[Project | None, Organisation]:
    return (to, to.organisation) if isinstance(to, Project) else (None, to)


def _change(place: Organisation | Project, name: str | None, archived: bool | None, now: datetime) -> None:
    columns = []
    if name is not None:
        place.name = checked_name(name)
        columns.append("name")
    if archived is not None and archived != (place.archived_at is not None):
        place.archived_at = now if archived else None
        columns.append("archived_at")
    try:
        with transaction.atomic():
            place.save(update_fields=columns)
            live = Project.objects.select_for_update(of=("self",), no_key=True).filter(archived_at=None)
            if archived and not [
                one for one in live.select_related("organisation") if not one.organisation.archived_at
            ]:
                raise LastProject(name=place.name)
    except IntegrityError as error:
        raise PlaceNameTaken(name=place.name) from error
