"""Supernodes: who sends an update or a sum to whom, what a supernode is asked to sum, how two devices know each other.

Every device has one Ed25519 key, which the platform learns from its check-ins. A member's ticket, signed by the
platform, names its key and the supernode's; both derive X25519 keys from them, and what they send one another is sealed
with `crypto_box` for the other one alone.
"""

import hashlib
from collections.abc import Sequence
from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType
from nacl.exceptions import BadSignatureError, CryptoError
from nacl.public import Box
from nacl.signing import SigningKey, VerifyKey

from coterie_wire.bundle import Sha256, SignedManifest
from coterie_wire.conditions import Reason
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.exclusion import ExclusionNews
from coterie_wire.message import Count, Identifier, Message
from coterie_wire.structs import from_json

PublicKey: TypeAlias = Annotated[bytes, Meta(min_length=32, max_length=32)]
"""Of Ed25519."""
Seed: TypeAlias = Annotated[bytes, Meta(min_length=32, max_length=32)]
Inner: TypeAlias = tuple[Count, Count]
"""A `coterie_learning.partial_sums.Fingerprint`."""
Address: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9.\-\[\]:]{1,255}:[0-9]{1,5}$")]
"""``HOST:PORT`` that neighbours reach."""
MAX_MEMBERS = 100
MAX_CLASSES = 10_000
MAX_TIERS = 3
"""Supernodes that a sum passes, at most, after the one that its devices send to."""
PATH = "/updates"
"""Where a supernode answers its neighbours."""


class Shedding(Message, frozen=True):
    """The supernode is to have no more neighbours than so many; the others send another way."""

    keep: Annotated[int, Meta(ge=0, le=MAX_MEMBERS)]
    reason: Reason


class OfferToLead(Message, frozen=True):
    """The device's owner lets it sum its neighbours' updates."""

    address: Address
    members: Annotated[int, Meta(ge=1, le=MAX_MEMBERS)]
    """Neighbours at once at most."""
    sums: bool = False
    """It adds up sums of other supernodes, too, and sends its own through others."""
    shedding: Shedding | None = None
    """It has less room now than its owner lets it have."""
    islands: bool = False
    """It keeps the roles of its neighbourhood with others while the platform is away."""


class Ticket(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The platform lets a device hand one update, or a supernode one sum, to a supernode."""

    protocol: Count
    assignment: Identifier
    """Of a sum, its fold."""
    member: Identifier
    member_key: PublicKey
    supernode: Identifier
    epoch: Count
    expires_at: float
    """Seconds since 1970."""


class Peer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A device of a list that the platform signs: who has the list knows it by this key, and calls it there."""

    device: Identifier
    key: PublicKey
    address: Address


class DirectPeer(Message, frozen=True):
    """Another device, which may be reached by a direct path."""

    device: Identifier
    key: PublicKey
    stun: Address | None = None
    """Who tells a device the address under which others see it (RFC 8489); None: nobody does."""


class Route(Message, frozen=True):
    """Hand the update to this neighbour; an update whose route has another epoch goes by that one."""

    supernode: Identifier
    address: Address
    key: PublicKey
    epoch: Count
    ticket: SignedManifest
    """A signed `Ticket`."""
    check_seed: Seed
    """What the update's fingerprint is drawn from; no supernode knows it."""
    tier_seeds: Annotated[tuple[Seed, ...], Meta(max_length=MAX_TIERS)] = ()
    """What further fingerprints are drawn from, by which supernodes check the sums of others: each knows its own."""
    island: SignedManifest | None = None
    """A signed `coterie_wire.island.Island`, of which one takes the update while the platform is away."""
    direct: DirectPeer | None = None
    """The same supernode, which opens direct paths: where it does not answer at its address."""


class Receipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A supernode has an update, whole and verified: held, not yet counted."""

    assignment: Identifier
    sha256: Sha256
    epoch: Count
    norm: Annotated[float, Meta(ge=0)]
    """L2 norm of the update, as `UpdateFile.extent` measures it."""


class SignedReceipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A receipt's exact bytes and the supernode's Ed25519 signature over them."""

    receipt: Annotated[bytes, Meta(max_length=4096)]
    signature: Annotated[bytes, Meta(min_length=64, max_length=64)]


class HandIn(Message, frozen=True):
    """A supernode has the update that was offered for this assignment."""

    assignment: Identifier
    receipt: SignedReceipt
    fingerprint: Inner
    """Of the update, by the route's `check_seed`."""
    tier_fingerprints: Annotated[tuple[Inner, ...], Meta(max_length=MAX_TIERS)] = ()
    """By its `tier_seeds`."""


class Weighed(Message, frozen=True):
    """One update in a partial aggregate, and what it counts there."""

    assignment: Identifier
    sha256: Sha256
    weight: Annotated[int, Meta(ge=0, lt=1 << 24)]
    """0: it is left out."""


class ChildSum(Message, frozen=True):
    """The sum of another supernode, which goes into one's own."""

    fold: Identifier
    supernode: Identifier
    weight: Annotated[int, Meta(ge=0, lt=1 << 38)]
    """Of its updates together."""
    seed: Seed
    fingerprint: Inner
    """What the sum's is, by `seed`."""
    roll: Sha256
    """Which updates are in it (`roll_of`)."""


class SumRoute(Message, frozen=True):
    """Hand the sum to this supernode."""

    supernode: Identifier
    address: Address
    key: PublicKey
    epoch: Count
    ticket: SignedManifest
    """A signed `Ticket`."""
    direct: DirectPeer | None = None
    """The same supernode, which opens direct paths: where it does not answer at its address."""


class Order(Message, frozen=True):
    """Sum these updates, with these weights, and these sums, and send the sum."""

    fold: Identifier
    shares: Annotated[tuple[Weighed, ...], Meta(max_length=MAX_MEMBERS)]
    parts: Annotated[tuple[ChildSum, ...], Meta(max_length=MAX_MEMBERS)] = ()
    """They come from other supernodes."""
    route: SumRoute | None = None
    """None: the sum goes to the platform."""


class Lead(Message, frozen=True):
    """The device is the supernode of its neighbours in a round, or would be one of its island."""

    round: Identifier
    plan: msgspec.Raw
    """A `coterie_learning.device_plan.DevicePlan`."""
    manifest: SignedManifest
    """The version that updates are differences from."""
    order: Order | None = None
    """None: it receives updates."""
    island: SignedManifest | None = None
    """A signed `coterie_wire.island.Island` that it is a voter of; it may have no neighbours before it is cut off."""


class SumReceipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A supernode has the sum of another, whole and checked: held, not yet counted."""

    fold: Identifier
    sha256: Sha256
    epoch: Count
    roll: Sha256
    """Which updates are in it (`roll_of`)."""


class HandInSum(Message, frozen=True):
    """Another supernode has the sum that was asked for."""

    fold: Identifier
    receipt: SignedReceipt
    """A signed `SumReceipt`."""


class OfferPartial(Message, frozen=True):
    """Announce the upload of a partial aggregate, or ask how far it came."""

    fold: Identifier
    sha256: Sha256
    size_bytes: Count


class HandOver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From member to supernode: what an update is, before a piece of it."""

    sha256: Sha256
    size_bytes: Count
    offset: Count
    classes: Annotated[tuple[Count, ...], Meta(max_length=MAX_CLASSES)] = ()
    """Those whose rows of the output layer the update holds, where the plan customises it."""
    away: bool | UnsetType = UNSET
    """The platform does not answer; so whoever leads the island is to take it, whose ticket this is."""
    exclusions: ExclusionNews = ExclusionNews()


class HandedOver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From supernode to member: how much has arrived, and the receipt once all has."""

    offset: Count = 0
    receipt: SignedReceipt | None = None
    refusal: Reason | None = None
    """Why nothing was taken."""
    ask: Identifier | UnsetType = UNSET
    """The voter of the island that has it, or takes it."""
    exclusions: ExclusionNews = ExclusionNews()


def public_key(secret: bytes) -> bytes:
    """The Ed25519 public key, 32 bytes, of a device's 32 secret bytes."""
    return bytes(SigningKey(secret).verify_key)


def seal(content: bytes, *, secret: bytes, to: bytes) -> bytes:
    """`content` for the device with the public key `to` alone, which knows from whom it comes."""
    return bytes(_box(secret, to).encrypt(content))


def unseal(content: bytes, *, secret: bytes, by: bytes) -> bytes:
    """What the device with the public key `by` sealed. Raises WireError ``relay.not_sealed``."""
    try:
        return _box(secret, by).decrypt(content)
    except (CryptoError, ValueError) as error:
        raise WireError("relay.not_sealed", "the content was not sealed for this device by its neighbour") from error


def roll_of(shares: Sequence[Weighed], parts: Sequence[str]) -> str:
    """A hash that stands for all updates of a sum with their weights: its own, and by their rolls those of its parts.

    Each supernode on the way of an update signs one, so that who held it, and in which sum, can be shown afterwards.
    """
    return hashlib.sha256(msgspec.json.encode([list(shares), sorted(parts)])).hexdigest()


def sign_receipt(receipt: Receipt | SumReceipt, secret: bytes) -> SignedReceipt:
    """The receipt's bytes with the supernode's signature."""
    content = msgspec.json.encode(receipt)
    return SignedReceipt(content, SigningKey(secret).sign(content).signature)


def verify_receipt(signed: SignedReceipt, key: bytes) -> Receipt:
    """What the supernode with the public key `key` signed of an update. Raises WireError ``relay.bad_receipt``."""
    return _verified(signed, key, Receipt)


def verify_sum_receipt(signed: SignedReceipt, key: bytes) -> SumReceipt:
    """The same of a sum."""
    return _verified(signed, key, SumReceipt)


S = TypeVar("S", bound=msgspec.Struct)


def with_body(struct: msgspec.Struct, body: bytes = b"") -> bytes:
    """A message between two devices: JSON, a line break, and whatever it is about."""
    return msgspec.json.encode(struct) + b"\n" + body


def read_with_body(content: bytes, struct: type[S]) -> tuple[S, bytes]:
    """The same, read. Raises WireError ``relay.malformed``."""
    head, _, body = content.partition(b"\n")
    try:
        return from_json(head, struct), body
    except UNREADABLE as error:
        raise WireError("relay.malformed", f"{struct.__name__}: {error}") from error


def _verified(signed: SignedReceipt, key: bytes, struct: type[S]) -> S:
    try:
        VerifyKey(key).verify(signed.receipt, signed.signature)
        return from_json(signed.receipt, struct)
    except (BadSignatureError, *UNREADABLE) as error:
        raise WireError("relay.bad_receipt", "the receipt was not signed by the supernode of this route") from error


def _box(secret: bytes, public: bytes) -> Box:
    return Box(SigningKey(secret).to_curve25519_private_key(), VerifyKey(public).to_curve25519_public_key())
