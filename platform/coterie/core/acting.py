"""Who acts: the person, API token or part of the platform on whose behalf a service writes.

Services ask the ambient actor instead of taking one as an argument, so that no call can leave it out (ADR 12).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from coterie.core.errors import CoterieError, ErrorKind


class OperatorRole(StrEnum):
    """What a person may do; each may do what those before it may."""

    VIEWER = "viewer"
    """See everything, change only what is one's own."""
    OPERATOR = "operator"
    """Run fleets, models and federations."""
    ADMINISTRATOR = "administrator"
    """Manage people and settings, too."""

    @property
    def rank(self) -> int:
        """Roles in their order."""
        return list(OperatorRole).index(self)


class Scope(StrEnum):
    """What an API token may be used for, within its owner's role."""

    READ = "read"
    FLEET = "fleet"
    """Change devices and enrolment tokens."""
    MODELS = "models"
    """Change pairs, versions in use, data sets and training jobs."""
    FEDERATIONS = "federations"
    """Change federations and their plans."""
    SETTINGS = "settings"
    """Change people, tokens and webhooks."""


class RoleNeeded(CoterieError):
    """Fields: needed, role."""

    code = "acting.role_needed"
    kind = ErrorKind.FORBIDDEN
    sentence = "This needs the role {needed}; yours is {role}. An administrator can change it."


class ScopeNeeded(CoterieError):
    """Fields: needed, token."""

    code = "acting.scope_needed"
    kind = ErrorKind.FORBIDDEN
    sentence = "The API token {token!r} does not have the scope {needed!r}; make one that has it."


class TokenExpires(CoterieError):
    """Fields: token."""

    code = "acting.token_expires"
    kind = ErrorKind.FORBIDDEN
    sentence = "The API token {token!r} expires, so it cannot make what would outlast it; use one that does not."


class NoProject(CoterieError):
    """A person to whom no role was given, or whose projects are archived; or a token of such a project."""

    code = "acting.no_project"
    kind = ErrorKind.FORBIDDEN
    sentence = "You have no role in any project here; ask an administrator for one."


class ProjectNeeded(CoterieError):
    """An actor of all projects creates something that belongs to one."""

    code = "acting.project_needed"
    kind = ErrorKind.CONFLICT
    sentence = (
        "There are several projects, and this belongs to one: choose it in the console, or use an API token of it, "
        "which `coterie token create --project` makes."
    )


class TokenOfProject(CoterieError):
    """Fields: token."""

    code = "acting.token_of_project"
    kind = ErrorKind.FORBIDDEN
    sentence = "The API token {token!r} is of one project, so it can do nothing for the whole installation."


class InstallationRoleNeeded(CoterieError):
    """Fields: needed."""

    code = "acting.installation_role_needed"
    kind = ErrorKind.FORBIDDEN
    sentence = "This needs the role {needed} in the whole installation, not in a project."


class NobodyActs(CoterieError):
    """A request whose sender is not authenticated."""

    code = "acting.nobody"
    kind = ErrorKind.UNAUTHENTICATED
    sentence = "Sign in first."


NOWHERE = 0
"""The project that does not exist."""


@dataclass(frozen=True)
class Actor:
    """A person, token or part of the platform that may change things."""

    kind: Literal["person", "token", "system", "nobody"]
    id: str
    """Of the operator, also where one of the operator's tokens acts."""
    name: str
    role: OperatorRole
    """In `project`."""
    scopes: frozenset[Scope] = frozenset(Scope)
    token: str = ""
    """Name of the API token."""
    expires_at: datetime | None = None
    """When the API token ends."""
    address: str = ""
    """Where the request came from."""
    project: int | None = None
    """Key of the project in which it acts, or NOWHERE; None: all, with a role in the whole installation."""
    also: frozenset[str] = frozenset()
    """Names of actions that custom roles allow in `project` beyond what `role` allows."""
    in_installation: OperatorRole | None = None
    """The actor's role in the whole installation while it acts in one project; None: no such role."""

    def installation_role(self) -> OperatorRole | None:
        """The role in the whole installation; None: there is none, or a token of one project acts."""
        return self.role if self.project is None else self.in_installation

    def require_in_installation(self, role: OperatorRole) -> None:
        """Check that the actor may do what concerns all projects. Raises TokenOfProject or InstallationRoleNeeded."""
        held = self.installation_role()
        if held is None and self.kind == "token":
            raise TokenOfProject(token=self.token)
        if held is None or held.rank < role.rank:
            raise InstallationRoleNeeded(needed=role.value)

    def require(self, role: OperatorRole, scope: Scope) -> None:
        """Check the actor's role and scope. Raises NobodyActs, NoProject, RoleNeeded or ScopeNeeded."""
        if self.kind == "nobody":
            raise NobodyActs
        if self.project == NOWHERE:
            raise NoProject
        if self.role.rank < role.rank:
            raise RoleNeeded(needed=role.value, role=self.role.value)
        if scope not in self.scopes:
            raise ScopeNeeded(needed=scope.value, token=self.token)

    def require_everything(self) -> None:
        """Return if the actor may do all that the operator may, for as long: a token cannot be used to extend itself.

        Raises TokenOfProject, ScopeNeeded or TokenExpires.
        """
        if self.kind == "token" and self.project is not None:
            raise TokenOfProject(token=self.token)
        for scope in Scope:
            if scope not in self.scopes:
                raise ScopeNeeded(needed=scope.value, token=self.token)
        if self.expires_at is not None:
            raise TokenExpires(token=self.token)


SYSTEM = Actor(kind="system", id="", name="the platform", role=OperatorRole.ADMINISTRATOR)
"""Tasks and sweeps."""
NOBODY = Actor(kind="nobody", id="", name="nobody", role=OperatorRole.VIEWER, scopes=frozenset(), project=NOWHERE)
"""A request before its sender is known."""

_actor: ContextVar[Actor] = ContextVar("actor", default=SYSTEM)


def current_actor() -> Actor:
    """The actor of the current context."""
    return _actor.get()


@contextmanager
def acting_as(actor: Actor) -> Iterator[None]:
    """Let `actor` act within the block."""
    token = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(token)


def become(actor: Actor) -> None:
    """Let `actor` act until the surrounding `acting_as` ends: a request begins as NOBODY until its sender is known."""
    _actor.set(actor)
