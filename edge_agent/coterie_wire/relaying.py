"""Supernodes: routes of updates and sums, orders to sum them, and the keys with which two devices seal their messages.

Every device has one Ed25519 key, which the platform learns from its check-ins. A member's ticket, signed by the
platform, names the member and its key; its route names the supernode's key. Both devices derive X25519 keys from them,
and seal their messages with `crypto_box` so that only the other one can read them.
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
"""An Ed25519 public key."""
Seed: TypeAlias = Annotated[bytes, Meta(min_length=32, max_length=32)]
Inner: TypeAlias = tuple[Count, Count]
"""A `coterie_learning.partial_sums.Fingerprint`: inner products modulo two primes."""
Address: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9.\-\[\]:]{1,255}:[0-9]{1,5}$")]
"""``HOST:PORT`` at which other devices reach a device."""
MAX_MEMBERS = 100
MAX_CLASSES = 10_000
MAX_TIERS = 3
"""Most supernodes that a sum passes after the one to which the devices send their updates."""
PATH = "/updates"
"""The HTTP path at which a supernode answers its neighbours."""


class Shedding(Message, frozen=True):
    """A supernode asks for fewer neighbours; the platform gives the others another route."""

    keep: Annotated[int, Meta(ge=0, le=MAX_MEMBERS)]
    """Most neighbours that it can have now."""
    reason: Reason


class OfferToLead(Message, frozen=True):
    """The device's owner lets it be a supernode, which sums its neighbours' updates."""

    address: Address
    members: Annotated[int, Meta(ge=1, le=MAX_MEMBERS)]
    """Most neighbours at the same time."""
    sums: bool = False
    """Whether it also adds sums of other supernodes, and can send its own sum to another supernode."""
    shedding: Shedding | None = None
    """A temporary lower limit of neighbours; None: `members` applies."""
    islands: bool = False
    """Whether it takes part in an island (`coterie_wire.island`) while the platform is unreachable."""


class Ticket(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The platform's permission for a device to send one update, or for a supernode to send one sum, to a supernode."""

    protocol: Count
    assignment: Identifier
    """ID of the assignment, or of the fold where the ticket is for a sum."""
    member: Identifier
    """ID of the sending device."""
    member_key: PublicKey
    supernode: Identifier
    epoch: Count
    """Number of the route, which increases when the platform changes it."""
    expires_at: float
    """Seconds since 1970."""


class Peer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A device in a list that the platform signs, with its key and address."""

    device: Identifier
    key: PublicKey
    address: Address


class DirectPeer(Message, frozen=True):
    """Another device, to which a direct path may be opened."""

    device: Identifier
    key: PublicKey
    stun: Address | None = None
    """Address of a STUN server (RFC 8489), which tells a device its public address; None: there is none."""


class Route(Message, frozen=True):
    """The supernode to which a device sends its update. A route with another epoch replaces it."""

    supernode: Identifier
    address: Address
    key: PublicKey
    epoch: Count
    ticket: SignedManifest
    """A signed `Ticket`."""
    check_seed: Seed
    """Seed of the update's fingerprint, with which the platform checks the supernode's sum; no supernode knows it."""
    tier_seeds: Annotated[tuple[Seed, ...], Meta(max_length=MAX_TIERS)] = ()
    """Seeds of further fingerprints, with which supernodes check other supernodes' sums; each knows one of them."""
    island: SignedManifest | None = None
    """A signed `coterie_wire.island.Island`, one of whose voters takes the update while the platform is unreachable."""
    direct: DirectPeer | None = None
    """The same supernode, where it opens direct paths: for when it does not answer at its address."""


class Receipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A supernode's statement that it has an update, complete and verified, which is not yet part of a version."""

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
    """Report to the platform that a supernode has received the device's update."""

    assignment: Identifier
    receipt: SignedReceipt
    fingerprint: Inner
    """The update's fingerprint from `Route.check_seed`."""
    tier_fingerprints: Annotated[tuple[Inner, ...], Meta(max_length=MAX_TIERS)] = ()
    """The update's fingerprints from `Route.tier_seeds`."""


class Weighed(Message, frozen=True):
    """One update in a partial aggregate, and its weight."""

    assignment: Identifier
    sha256: Sha256
    weight: Annotated[int, Meta(ge=0, lt=1 << 24)]
    """0: it is left out."""


class ChildSum(Message, frozen=True):
    """The sum of another supernode, which a supernode adds to its own."""

    fold: Identifier
    supernode: Identifier
    weight: Annotated[int, Meta(ge=0, lt=1 << 38)]
    """Total weight of its updates."""
    seed: Seed
    fingerprint: Inner
    """The sum's expected fingerprint from `seed`."""
    roll: Sha256
    """Hash of the list of updates in it (`roll_of`)."""


class SumRoute(Message, frozen=True):
    """The supernode to which a supernode sends its sum."""

    supernode: Identifier
    address: Address
    key: PublicKey
    epoch: Count
    ticket: SignedManifest
    """A signed `Ticket`."""
    direct: DirectPeer | None = None
    """The same supernode, where it opens direct paths: for when it does not answer at its address."""


class Order(Message, frozen=True):
    """Sum these updates with these weights, add these sums, and send the result."""

    fold: Identifier
    shares: Annotated[tuple[Weighed, ...], Meta(max_length=MAX_MEMBERS)]
    parts: Annotated[tuple[ChildSum, ...], Meta(max_length=MAX_MEMBERS)] = ()
    """Sums that come from other supernodes."""
    route: SumRoute | None = None
    """None: the sum goes to the platform."""


class Lead(Message, frozen=True):
    """The device is a supernode of its neighbourhood in a round, or a voter of its island that may become one."""

    round: Identifier
    plan: msgspec.Raw
    """A `coterie_learning.device_plan.DevicePlan`."""
    manifest: SignedManifest
    """Manifest of the version from which updates are differences."""
    order: Order | None = None
    """What to sum now; None: it goes on receiving updates."""
    island: SignedManifest | None = None
    """A signed `coterie_wire.island.Island` of which it is a voter; it may have no neighbours while the platform is
    reachable."""


class SumReceipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A supernode's statement that it has another's sum, complete and checked, which is not yet part of a version."""

    fold: Identifier
    sha256: Sha256
    epoch: Count
    roll: Sha256
    """Hash of the list of updates in it (`roll_of`)."""


class HandInSum(Message, frozen=True):
    """Report to the platform that another supernode has received this supernode's sum."""

    fold: Identifier
    receipt: SignedReceipt
    """A signed `SumReceipt`."""


class OfferPartial(Message, frozen=True):
    """Announce the upload of a partial aggregate, or ask how many bytes of it have arrived."""

    fold: Identifier
    sha256: Sha256
    size_bytes: Count


class HandOver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Head of a request from a member to its supernode, before bytes of the update."""

    sha256: Sha256
    size_bytes: Count
    offset: Count
    classes: Annotated[tuple[Count, ...], Meta(max_length=MAX_CLASSES)] = ()
    """Classes whose rows of the output layer the update contains; empty: the plan sends the whole layer."""
    away: bool | UnsetType = UNSET
    """Whether the platform is unreachable, so that the island's leader is to take the update although the ticket names
    another supernode."""
    exclusions: ExclusionNews = ExclusionNews()


class HandedOver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to `HandOver`: how many bytes have arrived, and the receipt when the update is complete."""

    offset: Count = 0
    receipt: SignedReceipt | None = None
    refusal: Reason | None = None
    """Why the bytes were not taken."""
    ask: Identifier | UnsetType = UNSET
    """The voter of the island that has the update or takes it, to which the member should turn."""
    exclusions: ExclusionNews = ExclusionNews()


def public_key(secret: bytes) -> bytes:
    """The Ed25519 public key, 32 bytes, of a device's 32-byte secret key."""
    return bytes(SigningKey(secret).verify_key)


def seal(content: bytes, *, secret: bytes, to: bytes) -> bytes:
    """Encrypts `content` for the device with the public key `to`, authenticated as from the owner of `secret`."""
    return bytes(_box(secret, to).encrypt(content))


def unseal(content: bytes, *, secret: bytes, by: bytes) -> bytes:
    """Decrypts what the device with the public key `by` has sealed. Raises WireError ``relay.not_sealed``."""
    try:
        return _box(secret, by).decrypt(content)
    except (CryptoError, ValueError) as error:
        raise WireError("relay.not_sealed", "the content was not sealed for this device by its neighbour") from error


def roll_of(shares: Sequence[Weighed], parts: Sequence[str]) -> str:
    """A hash of all updates of a sum with their weights: those in `shares`, and by their own rolls those of `parts`.

    Each supernode that an update passes signs one, so that it can be shown afterwards which supernode had the update,
    and in which sum.
    """
    return hashlib.sha256(msgspec.json.encode([list(shares), sorted(parts)])).hexdigest()


def sign_receipt(receipt: Receipt | SumReceipt, secret: bytes) -> SignedReceipt:
    """The receipt's bytes with the supernode's signature."""
    content = msgspec.json.encode(receipt)
    return SignedReceipt(content, SigningKey(secret).sign(content).signature)


def verify_receipt(signed: SignedReceipt, key: bytes) -> Receipt:
    """The receipt of an update, signed by the supernode with the public key `key`. Raises ``relay.bad_receipt``."""
    return _verified(signed, key, Receipt)


def verify_sum_receipt(signed: SignedReceipt, key: bytes) -> SumReceipt:
    """The receipt of a sum, signed by the supernode with the public key `key`. Raises ``relay.bad_receipt``."""
    return _verified(signed, key, SumReceipt)


S = TypeVar("S", bound=msgspec.Struct)


def with_body(struct: msgspec.Struct, body: bytes = b"") -> bytes:
    """A message between two devices: a JSON line, then the body."""
    return msgspec.json.encode(struct) + b"\n" + body


def read_with_body(content: bytes, struct: type[S]) -> tuple[S, bytes]:
    """Splits a message into its struct and its body. Raises WireError ``relay.malformed``."""
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
