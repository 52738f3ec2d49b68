"""Who has which role where, and as whom a request acts: in one project, or with a role in the installation in all."""

from collections.abc import Mapping

from django.db.models import Q, QuerySet

from coterie.accounts.effective import Permissions, level_of, standing_in
from coterie.accounts.models import ApiToken, Grant, Operator, Project
from coterie.core.acting import NOWHERE, Actor, OperatorRole, Scope
from coterie.core.errors import CoterieError, ErrorKind

CHOSEN = "project"
"""Key of the project that a browser's session acts in, in the session; none: what `actor_of` takes."""


class ProjectUnknown(CoterieError):
    """Fields: project."""

    code = "accounts.project_unknown"
    kind = ErrorKind.NOT_FOUND
    sentence = "There is no project {project!r} in which you have a role."


def installation_role(operator: Operator) -> OperatorRole | None:
    """The role in the whole installation; None: there is none."""
    return OperatorRole(operator.role) if operator.role else None


def live_projects() -> QuerySet[Project]:
    """Those in which people act."""
    return Project.objects.filter(archived_at=None, organisation__archived_at=None).select_related("organisation")


def projects_of(operator: Operator) -> QuerySet[Project]:
    """The projects that the person may act in."""
    if operator.role:
        return live_projects()
    grants = Grant.objects.filter(operator=operator)
    return live_projects().filter(
        Q(pk__in=grants.values("project")) | Q(organisation__in=grants.values("organisation"))
    )


def every_role(operator: Operator) -> frozenset[str]:
    """The built-in roles that the person has anywhere; a custom role counts as the one that may do all of it."""
    grants = operator.grants.select_related("custom_role")
    custom = {level_of(grant.custom_role).value for grant in grants if grant.custom_role is not None}
    return frozenset({operator.role, *(grant.role for grant in grants), *custom} - {""})


def actor_of(
    operator: Operator, token: object = None, *, address: str = "", session: Mapping[str, object] | None = None
) -> Actor:
    """The operator as an actor, in the project that the browser's `session` has chosen; a token in the one it is of.

    Without a choice that holds, who has a role in the installation acts in all projects, others in their first.
    """
    if isinstance(token, ApiToken):
        return _token_actor(operator, token, address)
    whole = installation_role(operator)
    chosen = None if session is None else session.get(CHOSEN)
    project = None if chosen is None and whole is not None else _chosen(operator, chosen)
    if project is None and whole is not None:
        return Actor("person", str(operator.pk), operator.username, whole, address=address)
    held = (
        Permissions() if project is None else standing_in(operator, project=project, organisation=project.organisation)
    )
    return Actor(
        "person",
        str(operator.pk),
        operator.username,
        held.role or OperatorRole.VIEWER,
        address=address,
        project=NOWHERE if project is None else project.pk,
        also=held.also,
        in_installation=whole,
    )


def _chosen(operator: Operator, chosen: object) -> Project | None:
    """The project that was chosen if the person may act in it; else the first, but for who may act in all."""
    projects = projects_of(operator)
    found = projects.filter(pk=chosen).first() if isinstance(chosen, int) else None
    return projects.first() if found is None and not operator.role else found


def _token_actor(operator: Operator, token: ApiToken, address: str) -> Actor:
    held = Permissions(installation_role(operator))
    project = None if held.role is not None else NOWHERE
    if token.project_id is not None:
        place = projects_of(operator).filter(pk=token.project_id).first()
        held = Permissions() if place is None else standing_in(operator, project=place, organisation=place.organisation)
        project = NOWHERE if place is None else place.pk
    return Actor(
        "token",
        str(operator.pk),
        operator.username,
        held.role or OperatorRole.VIEWER,
        frozenset(map(Scope, token.scopes)),
        token=token.name,
        expires_at=token.expires_at,
        address=address,
        project=project,
        also=held.also,
    )


def people_of(project: int) -> QuerySet[Operator]:
    """Who has a role in a project by a grant there or in its organisation."""
    grants = Grant.objects.filter(Q(project=project) | Q(organisation__projects=project))
    return Operator.objects.filter(pk__in=grants.values("operator"))
