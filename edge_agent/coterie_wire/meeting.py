"""Gossip: the signed roster of a round's devices, and the messages of devices that meet to average their models.

The platform signs one roster for all devices of a round. Until it expires, a device answers the roster's devices and no
others, and identifies them without asking the platform. Messages between two devices are sealed with `crypto_box` under
the keys of the roster (`coterie_wire.relaying.seal`). That shared key is the same in both directions, so each call
names its sender and receiver, and each answer repeats the number of its call: no message can be reflected or replayed.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie_wire.bundle import Sha256, SignedManifest
from coterie_wire.exclusion import ExclusionNews
from coterie_wire.message import Count, Identifier, Message, Seconds
from coterie_wire.relaying import Address, Peer

MAX_PEERS = 1000
MAX_GROUP = 100
MAX_RELAYS = 8
MEETINGS_PATH = "/meetings"
"""The HTTP path at which a device answers its peers."""


class OfferToMeet(Message, frozen=True):
    """The device's owner lets it average its model with those of its peers."""

    address: Address


class Roster(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The devices of a round that meet, ordered by their IDs."""

    protocol: Count
    round: Identifier
    seed: Annotated[int, Meta(ge=0, le=2**53)]
    """Seed from which the groups are drawn."""
    peers: Annotated[tuple[Peer, ...], Meta(max_length=MAX_PEERS)]
    expires_at: float
    """Seconds since 1970; devices answer no call under this roster afterwards."""


class Gathering(Message, frozen=True):
    """Meet the other devices of the round before the update is sent."""

    roster: SignedManifest
    """A signed `Roster`."""
    meetings: Annotated[int, Meta(ge=1, le=2**20)]
    """Meetings that each follow a training of the device on its own samples."""
    settling: Annotated[int, Meta(ge=0, le=2**20)]
    """Meetings after these without a training."""
    group: Annotated[int, Meta(ge=1, le=MAX_GROUP)]
    """Largest number of devices in one group."""
    wait_s: Seconds
    """Seconds that a device waits for the others of its group."""
    clips: bool = False
    """Whether each device receives all models of its group, mixes them itself and bounds the influence of each."""
    turn_s: Seconds | None = None
    """None: all devices come to each meeting, in groups. Else one group does, and the next group waits for its model
    at most this many seconds."""
    paths: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_PEERS)] = ()
    """Peers that open direct paths; empty where the receiving device does not."""
    stun: Address | None = None
    """Address of a STUN server, as in `DirectPeer`; None: there is none."""
    relays: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_RELAYS)] = ()
    """Peers that relay between two others that cannot reach each other (`coterie_wire.passing_on`)."""


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Unencrypted head of a sealed message: the round and the sender, by which the receiver finds the key."""

    round: Identifier
    sender: Identifier


class MeetingCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From one device to another, sealed; its body is a share of the caller's model where it sends one."""

    sender: Identifier
    to: Identifier
    number: Annotated[bytes, Meta(min_length=16, max_length=16)]
    """Random; the answer repeats it."""
    roster: Sha256
    """SHA-256 of the caller's roster; two devices draw the same groups only from the same roster."""
    meeting: Count
    """Number of the meeting, from 0."""
    asks: Literal["who is there", "take my share", "your average", "your model"]
    members: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_GROUP)] = ()
    """Members of the group for which the share was made."""
    weight: Annotated[int, Meta(ge=0, lt=1 << 16)] = 0
    """Weight of the caller's share in the average."""
    exclusions: ExclusionNews = ExclusionNews()


class MeetingReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reply to a `MeetingCall`, sealed; its body is what was asked for, or empty while that is not ready."""

    number: Annotated[bytes, Meta(min_length=16, max_length=16)]
    meeting: Count
    """Number of the meeting that the answering device is at; it may still be training for it."""
    same_roster: bool = True
    """Whether both devices have the same roster."""
    is_there: bool = False
    """Whether the device has finished training and waits for its group."""
    members: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_GROUP)] = ()
    """Members of the meeting that was asked about; empty until they are fixed."""
    taken: bool = False
    """Whether the share was accepted into the average."""
    exclusions: ExclusionNews = ExclusionNews()
