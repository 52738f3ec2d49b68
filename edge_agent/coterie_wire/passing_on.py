"""Relays: peers of a round that pass messages on between two others that cannot reach each other.

A relay passes on the signals with which the two open a direct path while the platform does not. Where no direct path
can be opened, it passes on the calls themselves, sealed for their receiver. It learns who calls whom, when, and how
many bytes are sent.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_wire.conditions import Reason
from coterie_wire.exclusion import ExclusionNews
from coterie_wire.message import Identifier
from coterie_wire.paths import MAX_SIGNAL_BYTES, MAX_SIGNALS, PathName

PASSING_PATH = "/passing"
"""The HTTP path at which a relay answers the other peers of its round."""
CallNumber = Annotated[bytes, Meta(min_length=16, max_length=16)]


class PeerSignal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A signal between two peers of a round."""

    path: PathName
    sender: Identifier
    to: Identifier
    sealed: Annotated[bytes, Meta(max_length=MAX_SIGNAL_BYTES)]
    """A `coterie_wire.paths.Candidates`, sealed for `to`."""


class PassOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """To a relay, sealed, after an `Envelope`: pass on signals, and the body as a request to `to`."""

    sender: Identifier
    relay: Identifier
    number: CallNumber
    """Random; the answer repeats it."""
    signals: Annotated[tuple[PeerSignal, ...], Meta(max_length=MAX_SIGNALS)] = ()
    """Signals that the relay keeps for a minute for their receivers."""
    to: Identifier | None = None
    """The receiver of the body; None: there is no body."""
    exclusions: ExclusionNews = ExclusionNews()


class PassedOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The relay's answer, sealed; its body is the answer of `PassOn.to`, which only the caller can read."""

    number: CallNumber
    signals: Annotated[tuple[PeerSignal, ...], Meta(max_length=MAX_SIGNALS)] = ()
    """Signals of other peers for the caller."""
    refusal: Reason | None = None
    """Why the body was not passed on or not answered; None: it was answered, or there was none."""
    exclusions: ExclusionNews = ExclusionNews()
