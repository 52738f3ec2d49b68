"""Gossip: who may meet whom in a round, under which keys, and what two devices that meet say to each other.

The platform signs one roster for all devices of a round. It is each one's ticket, for as long as it says: a device
answers nobody else, and it needs no platform to know whom it talks to. What two devices send one another is sealed with
`crypto_box` under the keys of the roster (`coterie_wire.relaying.seal`). That key is the same both ways, so each call
names who calls whom, and each answer repeats the number of its call: none can be sent back or sent again as another.
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
"""Where a device answers its peers."""


class OfferToMeet(Message, frozen=True):
    """The device's owner lets it average its model with those of its peers."""

    address: Address


class Roster(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The devices of a round that meet, in the order of their names."""

    protocol: Count
    round: Identifier
    seed: Annotated[int, Meta(ge=0, le=2**53)]
    """Of the groups."""
    peers: Annotated[tuple[Peer, ...], Meta(max_length=MAX_PEERS)]
    expires_at: float
    """Seconds since 1970; from then on nobody meets under it."""


class Gathering(Message, frozen=True):
    """Meet the other devices of the round before the update is sent."""

    roster: SignedManifest
    """A signed `Roster`."""
    meetings: Annotated[int, Meta(ge=1, le=2**20)]
    settling: Annotated[int, Meta(ge=0, le=2**20)]
    group: Annotated[int, Meta(ge=1, le=MAX_GROUP)]
    wait_s: Seconds
    clips: bool = False
    """Whether each device is sent all models of its group, and bounds what one of them can do."""
    turn_s: Seconds | None = None
    """None: all devices come to each meeting, in groups. Else one group does, and is waited for so long by the next."""
    paths: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_PEERS)] = ()
    """Peers that open direct paths; a device is told them that does, too."""
    stun: Address | None = None
    """Who tells a device the address under which others see it, as in `Way`."""
    relays: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_RELAYS)] = ()
    """Peers that pass on what two others cannot send each other (`coterie_wire.passing_on`)."""


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In the clear before what is sealed: by whose key it is to be opened."""

    round: Identifier
    sender: Identifier


class MeetingCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From one device to another, sealed; its body is a share where it brings one."""

    sender: Identifier
    to: Identifier
    number: Annotated[bytes, Meta(min_length=16, max_length=16)]
    """Random; the answer repeats it."""
    roster: Sha256
    """Of the roster that the caller has: groups are the same only under the same one."""
    meeting: Count
    asks: Literal["who is there", "take my share", "your average", "your model"]
    members: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_GROUP)] = ()
    """The list that a share was made for."""
    weight: Annotated[int, Meta(ge=0, lt=1 << 16)] = 0
    """Of the caller's share."""
    exclusions: ExclusionNews = ExclusionNews()


class MeetingReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reply, sealed; its body is what was asked for, or empty while it is not there."""

    number: Annotated[bytes, Meta(min_length=16, max_length=16)]
    meeting: Count
    """Which one the device is at; before that it may still be training."""
    same_roster: bool = True
    is_there: bool = False
    """Whether it has done with training, and waits for its group."""
    members: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_GROUP)] = ()
    """The list of the meeting that was asked about, once it is fixed."""
    taken: bool = False
    """Whether the share counts."""
    exclusions: ExclusionNews = ExclusionNews()
