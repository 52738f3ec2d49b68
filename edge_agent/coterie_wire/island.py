"""An island: supernodes of one neighbourhood that are cut off, and agree among themselves on who does what.

The platform signs who they are while it is there: three devices of a site, as ever with their keys. What two of them
send each other is sealed under these keys (`coterie_wire.relaying.seal`), and names who sends it to whom, and when.
They agree by Raft (Ongaro and Ousterhout 2014, "In search of an understandable consensus algorithm").
"""

import hashlib
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from coterie_wire.bundle import Sha256, SignedManifest, read_signed
from coterie_wire.errors import WireError
from coterie_wire.exclusion import ExclusionNews
from coterie_wire.message import Count, Identifier
from coterie_wire.relaying import Peer

ISLAND_PATH = "/island"
"""Where a supernode answers the others of its island."""
VOTERS = 3
"""Of an island; two of them are enough."""
MAX_VOTERS = 5
MAX_HOLDINGS = 1000
MAX_ENTRIES = 1000


class Island(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Those who keep the roles of a neighbourhood in one round while they are cut off."""

    protocol: Count
    round: Identifier
    voters: Annotated[tuple[Peer, ...], Meta(min_length=VOTERS, max_length=MAX_VOTERS)]
    """Supernodes of the neighbourhood, at work or in reserve."""
    expires_at: float
    """Seconds since 1970."""

    @property
    def name(self) -> str:
        """The same for the same voters in the same round, wherever they are."""
        voters = sorted((voter.device, voter.key.hex()) for voter in self.voters)
        return hashlib.sha256(msgspec.json.encode([self.round, voters])).hexdigest()

    def voter(self, device: str) -> Peer | None:
        """None: it is not one of them."""
        return next((voter for voter in self.voters if voter.device == device), None)


class Holding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A voter has an update, whole and verified."""

    assignment: Identifier
    sha256: Sha256
    holder: Identifier


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the replicated log (Raft)."""

    term: Count
    holding: Holding | None = None
    """None: a leader begins its term."""


class Snapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the entries up to one came to, in place of them."""

    index: Count = 0
    """Of the last entry that is in it; the first is 1."""
    term: Count = 0
    holdings: Annotated[tuple[Holding, ...], Meta(max_length=MAX_HOLDINGS)] = ()


class AskVote(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The sender would lead, or on trial: would it be voted for?"""

    term: Count
    last_index: Count
    last_term: Count
    is_trial: bool


class GiveVote(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The answer."""

    term: Count
    """Where it is given, the one that was asked for; else the sender's."""
    is_given: bool
    is_trial: bool


class Append(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The sender leads, and its log goes on like this after one entry."""

    term: Count
    after: Count
    after_term: Count
    entries: Annotated[tuple[Entry, ...], Meta(max_length=MAX_ENTRIES)]
    committed: Count
    snapshot: Snapshot | None = None
    """Where the receiver lacks entries that the sender has no more."""


class Appended(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The answer."""

    term: Count
    index: Count
    """Up to here the logs are the same; where they are not after the entry that was named, from here on they may be."""
    is_same: bool


RaftMessage: TypeAlias = AskVote | GiveVote | Append | Appended


Session: TypeAlias = Annotated[bytes, Meta(min_length=16, max_length=16)]
"""Drawn by a voter each time that it starts."""


class Parcel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From one voter to another, sealed; the answer is one, too."""

    island: Sha256
    sender: Identifier
    to: Identifier
    session: Session
    """Of the sender."""
    told: Session
    """The receiver's, as the sender knows it. Where it is another, messages are passed over; the answer tells it."""
    number: Count
    """Grows with each; an answer repeats it."""
    messages: Annotated[tuple[RaftMessage, ...], Meta(max_length=64)]
    exclusions: ExclusionNews = ExclusionNews()


class Calling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In the clear before what is sealed: by whose key it is to be opened."""

    island: Sha256
    sender: Identifier


def read_island(signed: SignedManifest, *keys: bytes, now: float) -> Island:
    """What the platform signed with one of `keys`; `now` in seconds since 1970.

    Raises WireError ``bundle.*`` or ``island.expired``.
    """
    island = read_signed(signed, Island, *keys)
    if island.expires_at < now:
        raise WireError("island.expired", "the round whose neighbourhood this is has ended")
    return island
