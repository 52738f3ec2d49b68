"""Which devices the platform has excluded, in a list that it signs and that devices pass on whenever they talk.

Of two lists the newer one holds. Each says in every sealed call and answer how new its own is, and brings it where the
other one's is older, so that what one of them has heard all of them hear that talk to one another.
"""

from collections.abc import Container
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_wire.bundle import SignedManifest
from coterie_wire.errors import WireError
from coterie_wire.message import Count, Identifier

MAX_EXCLUDED = 10_000
MAX_LIST_BYTES = 1 << 20
"""Of so many, signed, with room for what is said beside them."""


class Excluded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Devices whose tickets may not have expired, and hold no more: revoked, gone, or in quarantine."""

    protocol: Count
    devices: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_EXCLUDED)]
    written_at: float
    """Seconds since 1970."""


class ExclusionNews(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one device tells another of it."""

    written_at: float = 0.0
    """When the sender's list was written, in seconds since 1970; 0: it has none."""
    signed: SignedManifest | None = None
    """That list, a signed `Excluded`, where the other one's is known to be older."""


def check_not_excluded(device: str, excluded: Container[str]) -> None:
    """Raises WireError ``discovery.excluded`` where the platform has excluded the device since it named it."""
    if device in excluded:
        raise WireError("discovery.excluded", f"the platform has excluded device {device}")
