"""The list of excluded devices, which the platform signs and devices pass on to one another.

The newest list is valid. In every sealed call and answer a device states how new its list is, and encloses the list
where the other device's is older. So a new list spreads to all devices that communicate, without the platform.
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
"""Most bytes of a signed list of `MAX_EXCLUDED` devices."""


class Excluded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Devices whose tickets are no longer valid although they have not expired: revoked, left, or in quarantine."""

    protocol: Count
    devices: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_EXCLUDED)]
    written_at: float
    """Seconds since 1970."""


class ExclusionNews(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A device's list of excluded devices, as it passes it on in a call or an answer."""

    written_at: float = 0.0
    """When the sender's list was written, in seconds since 1970; 0: the sender has none."""
    signed: SignedManifest | None = None
    """The list, a signed `Excluded`, where the receiver's is known to be older; None: it is not enclosed."""


def check_not_excluded(device: str, excluded: Container[str]) -> None:
    """Raises WireError ``discovery.excluded`` where `device` is in the list of excluded devices."""
    if device in excluded:
        raise WireError("discovery.excluded", f"the platform has excluded device {device}")
