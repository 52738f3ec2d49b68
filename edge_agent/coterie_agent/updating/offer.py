"""A release that waits for the owner's decision: its verified description, and the keys that signed it."""

import msgspec

from coterie_agent.home import Home, write_private
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json


class Offer(msgspec.Struct, frozen=True):
    """The release that the owner is asked about; all fields are verified."""

    version: str
    notes: str
    """Release notes; may be blank."""
    size_bytes: int
    """Largest total size of the wheels that this machine may need."""
    signed_by: tuple[str, ...]
    """Ids of the trusted keys that have signed the list of releases."""
    signatures_needed: int
    """Number of signatures that the device requires."""


def keep_offer(home: Home, offer: Offer) -> None:
    """Store the offer, in place of any other. Raises OSError."""
    home.updates.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(home.offered_update, msgspec.json.encode(offer))


def offer_of(home: Home, version: str) -> Offer | None:
    """The stored offer of a release; None: there is none, or it cannot be read."""
    try:
        offer = from_json(home.offered_update.read_bytes(), Offer)
    except (OSError, *UNREADABLE):
        return None
    return offer if offer.version == version else None
