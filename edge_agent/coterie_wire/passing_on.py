"""A relay among the peers of a round: it passes on what two of them cannot send each other.

Signals, by which the two meet on a direct path while the platform does not pass them on; and where no path comes about,
the calls themselves, which stay sealed for the one who is called. The relay learns who calls whom, when, and how much.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_wire.conditions import Reason
from coterie_wire.exclusion import ExclusionNews
from coterie_wire.message import Identifier
from coterie_wire.paths import MAX_SIGNAL_BYTES, MAX_SIGNALS, PathName

PASSING_PATH = "/passing"
"""Where a relay answers the other peers of its round."""
CallNumber = Annotated[bytes, Meta(min_length=16, max_length=16)]


class PeerSignal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A signal between two peers of a round."""

    path: PathName
    sender: Identifier
    to: Identifier
    sealed: Annotated[bytes, Meta(max_length=MAX_SIGNAL_BYTES)]
    """A `coterie_wire.paths.Candidates`, sealed for `to`."""


class PassOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """To a relay, sealed, after an `Envelope`; its body is what `to` is to be asked, as the door of `to` takes it."""

    sender: Identifier
    relay: Identifier
    number: CallNumber
    """Random; the answer repeats it."""
    signals: Annotated[tuple[PeerSignal, ...], Meta(max_length=MAX_SIGNALS)] = ()
    """To be kept for a minute for those whom they are for."""
    to: Identifier | None = None
    """None: nobody is to be asked."""
    exclusions: ExclusionNews = ExclusionNews()


class PassedOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The relay's answer, sealed; its body is that of the peer who was asked, which only the caller can read."""

    number: CallNumber
    signals: Annotated[tuple[PeerSignal, ...], Meta(max_length=MAX_SIGNALS)] = ()
    """For the caller, from others."""
    refusal: Reason | None = None
    """Why nobody was asked, or did not answer."""
    exclusions: ExclusionNews = ExclusionNews()
