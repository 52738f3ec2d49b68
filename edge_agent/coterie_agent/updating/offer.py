"""A release that waits for the owner's word: what its signed description says, and who has signed it."""

import msgspec

from coterie_agent.home import Home, write_private
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json


class Offer(msgspec.Struct, frozen=True):
    """What the owner is asked about; all of it is verified."""

    version: str
    notes: str
    """What is new, by those who have signed it; blank: they do not say."""
    size_bytes: int
    """Of the wheels that this machine may need, at most."""
    signed_by: tuple[str, ...]
    """The ids of the keys that have signed the list of releases, of those that the device trusts for that."""
    signatures_needed: int
    """Of how many the device asks."""


def keep_offer(home: Home, offer: Offer) -> None:
    """In place of any other. Raises OSError."""
    home.updates.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(home.offered_update, msgspec.json.encode(offer))


def offer_of(home: Home, version: str) -> Offer | None:
    """What is known of that release; None: nothing was fetched, or it cannot be read."""
    try:
        offer = from_json(home.offered_update.read_bytes(), Offer)
    except (OSError, *UNREADABLE):
        return None
    return offer if offer.version == version else None
