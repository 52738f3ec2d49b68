"""What a device and the platform tell each other in a secure sum (Bonawitz et al. 2017, doi 10.1145/3133956.3133982).

A device whose training is done asks what to do, does it and asks again, until its update counts or the sum is over.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie_wire.bundle import Sha256
from coterie_wire.conditions import Reason
from coterie_wire.message import Count, Identifier, Message, Seconds

MOST_MEMBERS = 2_500
"""Of a list that fits into one message."""
Key = Annotated[bytes, Meta(min_length=32, max_length=32)]
Place = Annotated[int, Meta(ge=0, lt=MOST_MEMBERS)]
SecretKind = Literal["own_mask", "pair_masks"]
"""What a share helps to recover."""


class Member(msgspec.Struct, frozen=True, array_like=True):
    """One device's entry in the list of those who take part."""

    device: Identifier
    identity: Key
    """Ed25519, of the device's own."""
    mask: Key
    """X25519, of the masks that it shares with others."""
    channel: Key
    """X25519, of the boxes in which shares travel."""
    commitment: Key
    """BLAKE2b of the seed of its own mask, so that a wrong share of it is told from a right one."""
    signature: Annotated[bytes, Meta(min_length=64, max_length=64)]
    """By `identity`, of the keys for this sum."""


class Box(msgspec.Struct, frozen=True, array_like=True):
    """The shares of one member for another, sealed; members are named by their places in the list."""

    sender: Place
    to: Place
    content: Annotated[bytes, Meta(min_length=82, max_length=82)]


class Share(msgspec.Struct, frozen=True, array_like=True):
    """A share of one of the secrets of member `owner`."""

    owner: Place
    of: SecretKind
    share: Annotated[bytes, Meta(min_length=33, max_length=33)]


Boxes = Annotated[tuple[Box, ...], Meta(max_length=MOST_MEMBERS)]


class AskSum(Message, frozen=True):
    """What is the device to do now? Its update is ready."""

    assignment: Identifier


class JoinSum(Message, frozen=True):
    """Take part."""

    assignment: Identifier
    member: Member


class ShareSecrets(Message, frozen=True):
    """The device's shares for its neighbours, sealed."""

    assignment: Identifier
    boxes: Boxes


class OfferMasked(Message, frozen=True):
    """Announce the upload of the masked vector, or ask how far it came."""

    assignment: Identifier
    sha256: Sha256
    size_bytes: Count


class RevealShares(Message, frozen=True):
    """Shares of the secrets of others, so that the sum can be unmasked."""

    assignment: Identifier
    shares: Annotated[tuple[Share, ...], Meta(max_length=MOST_MEMBERS)]


class LogEntry(msgspec.Struct, frozen=True, array_like=True):
    """A device's entry in the log of identities."""

    device: Identifier
    identity: Key


class ReadLog(Message, frozen=True):
    """Enter the device's identity into the log, if it is not there, and read what follows the entries it knows."""

    identity: Key
    known: Count


class LogEntries(Message, frozen=True):
    """The entries that follow, in their order."""

    entries: Annotated[tuple[LogEntry, ...], Meta(max_length=MOST_MEMBERS)]
    length: Count
    """Of the whole log."""


class SumNews(Message, frozen=True):
    """How a secure sum stands for the device that asks."""

    session: Identifier
    to_do: Literal["join", "share", "mask", "reveal", "wait", "counted", "over"]
    """``counted``: its update is in the sum; ``over``: it is not, and will not be."""
    again_s: Seconds = 1.0
    """When to ask again, where there is nothing to do but wait."""
    reason: Reason | None = None
    """What the sum waits for, or why it is over."""
    members: Annotated[tuple[Member, ...], Meta(max_length=MOST_MEMBERS)] = ()
    """To share secrets: who takes part."""
    log_length: Count = 0
    """To share secrets: entries of the log of identities, among which those of all members are."""
    log_head: Annotated[bytes, Meta(max_length=32)] = b""
    """The hash of so many entries; see `coterie_learning.secure_sum.identities`."""
    boxes: Boxes = ()
    """To mask: the shares of its neighbours for it."""
    survivors: Annotated[tuple[Place, ...], Meta(max_length=MOST_MEMBERS)] = ()
    """To reveal shares: whose vectors have arrived, ascending."""
