"""The OpenID Connect provider that may sign operators in: what the settings say of it, and the role that it gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from coterie.core.acting import OperatorRole

EVERYBODY = "*"
"""In the place of a group: whoever the provider lets in."""
Claims = Mapping[str, object]
"""What a provider says of a person, by name."""


@dataclass(frozen=True)
class Provider:
    """Its address, our client id at it, and which role each of its groups gives."""

    issuer: str
    """URL, as its tokens name it."""
    client_id: str
    client_secret: str = field(repr=False)
    label: str
    """Of the button."""
    role_claim: str
    groups: tuple[tuple[OperatorRole, tuple[str, ...]], ...]
    """Roles, the highest first, each with the values of that claim which give it."""

    def role_of(self, claims: Claims) -> OperatorRole | None:
        """The highest role in the whole installation that the claims give; None: they give none."""
        held = self.values_of(claims)
        return next((role for role, groups in self.groups if held.intersection(groups)), None)

    def values_of(self, claims: Claims) -> frozenset[str]:
        """What the role claim holds, and EVERYBODY."""
        claimed = claims.get(self.role_claim)
        values = claimed if isinstance(claimed, list) else [claimed]
        return frozenset(value for value in values if isinstance(value, str)) | {EVERYBODY}
