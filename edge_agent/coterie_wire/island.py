"""An island: supernodes of one neighbourhood that cannot reach the platform and elect one that collects updates.

While the platform is reachable, it signs the list of these devices, called voters, with their keys. A message between
two of them is sealed under these keys (`coterie_wire.relaying.seal`) and carries its sender, receiver and number. They
use Raft (Ongaro and Ousterhout 2014, "In search of an understandable consensus algorithm").
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
"""The HTTP path at which a voter answers the others of its island."""
VOTERS = 3
"""Fewest voters of an island; a majority of two then decides."""
MAX_VOTERS = 5
MAX_HOLDINGS = 1000
MAX_ENTRIES = 1000


class Island(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The voters of a neighbourhood in one round, as the platform signs them."""

    protocol: Count
    round: Identifier
    voters: Annotated[tuple[Peer, ...], Meta(min_length=VOTERS, max_length=MAX_VOTERS)]
    """Supernodes of the neighbourhood, active or in reserve."""
    expires_at: float
    """Seconds since 1970."""

    @property
    def name(self) -> str:
        """ID of the island: a hash of its round and its voters, without their addresses."""
        voters = sorted((voter.device, voter.key.hex()) for voter in self.voters)
        return hashlib.sha256(msgspec.json.encode([self.round, voters])).hexdigest()

    def voter(self, device: str) -> Peer | None:
        """The voter with the ID `device`; None: it is no voter of the island."""
        return next((voter for voter in self.voters if voter.device == device), None)


class Holding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A voter has received an update completely and verified it."""

    assignment: Identifier
    sha256: Sha256
    holder: Identifier


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the replicated log (Raft)."""

    term: Count
    holding: Holding | None = None
    """None: the entry that a new leader writes at the beginning of its term."""


class Snapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state after the log's entries up to `index`, which replaces these entries."""

    index: Count = 0
    """Index of the last entry that it includes; the first entry has index 1. 0: it includes none."""
    term: Count = 0
    """Term of that entry."""
    holdings: Annotated[tuple[Holding, ...], Meta(max_length=MAX_HOLDINGS)] = ()


class AskVote(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """A candidate asks for a vote (Raft's RequestVote)."""

    term: Count
    last_index: Count
    """Index of the last entry of the candidate's log."""
    last_term: Count
    """Term of that entry."""
    is_trial: bool
    """Whether this is a pre-vote, which asks only whether the vote would be given."""


class GiveVote(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The answer to `AskVote`."""

    term: Count
    """The requested term where the vote is given; else the sender's term."""
    is_given: bool
    is_trial: bool


class Append(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The leader replicates entries of its log (Raft's AppendEntries)."""

    term: Count
    after: Count
    """Index of the entry that `entries` follow."""
    after_term: Count
    """Term of that entry."""
    entries: Annotated[tuple[Entry, ...], Meta(max_length=MAX_ENTRIES)]
    committed: Count
    """Index of the last committed entry."""
    snapshot: Snapshot | None = None
    """The leader's snapshot, where the receiver lacks entries that the leader no longer has."""


class Appended(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The answer to `Append`."""

    term: Count
    index: Count
    """Where `is_same`, the last index up to which both logs agree; else the index after which the leader should try."""
    is_same: bool
    """Whether the receiver's log has the entry that the new entries follow, so that they were appended."""


RaftMessage: TypeAlias = AskVote | GiveVote | Append | Appended


Session: TypeAlias = Annotated[bytes, Meta(min_length=16, max_length=16)]
"""Random number that a voter draws each time it starts."""


class Parcel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Raft messages from one voter to another, sealed; the answer is a parcel, too."""

    island: Sha256
    sender: Identifier
    to: Identifier
    session: Session
    """The sender's session."""
    told: Session
    """The receiver's session as the sender knows it. Where it is outdated, the receiver ignores the messages and its
    answer gives the present one."""
    number: Count
    """Increases with each parcel of the sender; an answer repeats it."""
    messages: Annotated[tuple[RaftMessage, ...], Meta(max_length=64)]
    exclusions: ExclusionNews = ExclusionNews()


class Calling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Unencrypted head of a sealed parcel: the island and the sender, by which the receiver finds the key."""

    island: Sha256
    sender: Identifier


def read_island(signed: SignedManifest, *keys: bytes, now: float) -> Island:
    """The island that the platform signed with one of `keys`; `now` in seconds since 1970.

    Raises WireError ``bundle.*`` or ``island.expired``.
    """
    island = read_signed(signed, Island, *keys)
    if island.expires_at < now:
        raise WireError("island.expired", "the round whose neighbourhood this is has ended")
    return island
