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


class NobodyActs(CoterieError):
    """A request whose sender is not known."""

    code = "acting.nobody"
    kind = ErrorKind.UNAUTHENTICATED
    sentence = "Sign in first."


@dataclass(frozen=True)
class Actor:
    """Somebody who may change things."""

    kind: Literal["person", "token", "system", "nobody"]
    id: str
    """Of the operator, also where one of their tokens acts."""
    name: str
    role: OperatorRole
    scopes: frozenset[Scope] = frozenset(Scope)
    token: str = ""
    """Name of the API token."""
    expires_at: datetime | None = None
    """When the API token ends."""
    address: str = ""
    """Where the request came from."""

    def require(self, role: OperatorRole, scope: Scope) -> None:
        """Return if the actor may. Raises NobodyActs, RoleNeeded or ScopeNeeded."""
        if self.kind == "nobody":
            raise NobodyActs
        if self.role.rank < role.rank:
            raise RoleNeeded(needed=role.value, role=self.role.value)
        if scope not in self.scopes:
            raise ScopeNeeded(needed=scope.value, token=self.token)

    def require_everything(self) -> None:
        """Return if the actor may do all that the operator may, for as long: a token cannot be used to extend itself.

        Raises ScopeNeeded or TokenExpires.
        """
        for scope in Scope:
            if scope not in self.scopes:
                raise ScopeNeeded(needed=scope.value, token=self.token)
        if self.expires_at is not None:
            raise TokenExpires(token=self.token)


SYSTEM = Actor(kind="system", id="", name="the platform", role=OperatorRole.ADMINISTRATOR)
"""Tasks and sweeps."""
NOBODY = Actor(kind="nobody", id="", name="nobody", role=OperatorRole.VIEWER, scopes=frozenset())
"""A request before its sender is known."""

_actor: ContextVar[Actor] = ContextVar("actor", default=SYSTEM)


def current_actor() -> Actor:
    """Who acts now."""
    return _actor.get()


@contextmanager
def acting_as(actor: Actor) -> Iterator[None]:
    """Let `actor` act as long as the block lasts."""
    token = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(token)


def become(actor: Actor) -> None:
    """Let `actor` act until the surrounding `acting_as` ends: a request begins as NOBODY until its sender is known."""
    _actor.set(actor)
