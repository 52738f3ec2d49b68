"""The members of a secure sum: their session keys, signed by the identity of each device.

All keys and masks are derived from the digest of the whole list, so that devices with different lists share no masks
and cannot open each other's boxes.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from coterie_learning.secure_sum.masks import is_key
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.secure_sum import MOST_MEMBERS, Member
from coterie_wire.structs import from_json

_KEYS = b"coterie secure sum keys 1\n"
_LIST = b"coterie secure sum list 1\n"


class SessionKeys(NamedTuple):
    """The public keys that a device generates for each sum."""

    mask: bytes
    """X25519 key for pairwise masks."""
    channel: bytes
    """X25519 key for the boxes with shares."""
    commitment: bytes
    """BLAKE2b of the seed of its own mask, so that wrong shares of the seed are detected."""


def keys_of(member: Member) -> SessionKeys:
    """The public keys of `member` in this sum."""
    return SessionKeys(member.mask, member.channel, member.commitment)


def signed_member(session: str, device: str, identity: SigningKey, keys: SessionKeys) -> Member:
    """The entry of `device` for the sum `session`."""
    public = bytes(identity.verify_key)
    signature = identity.sign(_signed(session, device, keys)).signature
    return Member(device, public, keys.mask, keys.channel, keys.commitment, signature)


def check_signature(session: str, member: Member) -> None:
    """Raises WireError ``secure_sum.wrong_signature``."""
    try:
        VerifyKey(member.identity).verify(_signed(session, member.device, keys_of(member)), member.signature)
    except BadSignatureError as error:
        detail = f"the keys of device {member.device} are not signed by its identity"
        raise WireError("secure_sum.wrong_signature", detail) from error


def check_member(session: str, member: Member) -> None:
    """Raises WireError ``secure_sum.wrong_key`` where a key is invalid, or ``secure_sum.wrong_signature``."""
    if not is_key(member.mask) or not is_key(member.channel):
        raise WireError("secure_sum.wrong_key", f"nobody can agree on a secret with the keys of device {member.device}")
    check_signature(session, member)


class MemberList(NamedTuple):
    """All members, in the order of their mask keys."""

    session: str
    members: tuple[Member, ...]
    log_head: bytes
    """Head of the log of identities; see `coterie_learning.secure_sum.identities`."""
    digest: bytes
    """SHA-256 [32 bytes] of the whole list."""

    def place_of(self, device: str) -> int:
        """The place of the device in the list. Raises WireError ``secure_sum.wrong_list`` where it is not in it."""
        for place, member in enumerate(self.members):
            if member.device == device:
                return place
        raise WireError("secure_sum.wrong_list", f"device {device} is not in the list")


def member_list(session: str, members: Sequence[Member], log_head: bytes) -> MemberList:
    """The sorted list of `members`, whose identities are in the log with the head `log_head`.

    Raises WireError ``secure_sum.wrong_list`` where a device, an identity or a key is duplicated, or there are too many
    members, and what `check_member` raises.
    """
    if len(members) > MOST_MEMBERS:
        raise WireError("secure_sum.wrong_list", f"{len(members)} members, of {MOST_MEMBERS} at most")
    ordered = tuple(sorted(members, key=lambda member: member.mask))
    for field in ("device", "identity", "mask", "channel"):
        if len({getattr(member, field) for member in ordered}) < len(ordered):
            raise WireError("secure_sum.wrong_list", f"two members have the same {field}")
    for member in ordered:
        check_member(session, member)
    return _with_digest(session, ordered, log_head)


def encode_members(found: MemberList) -> bytes:
    """The list as JSON."""
    return msgspec.json.encode((found.log_head, found.members))


def decode_members(session: str, raw: bytes) -> MemberList:
    """Decode a stored list that was checked before: signatures are not verified again.

    Raises WireError ``secure_sum.malformed``.
    """
    try:
        log_head, members = from_json(raw, tuple[bytes, tuple[Member, ...]])
    except UNREADABLE as error:
        raise WireError("secure_sum.malformed", f"list of members: {error}") from error
    return _with_digest(session, members, log_head)


def _with_digest(session: str, ordered: tuple[Member, ...], log_head: bytes) -> MemberList:
    content = _LIST + msgspec.json.encode([session, log_head, ordered])
    return MemberList(session, ordered, log_head, hashlib.sha256(content).digest())


def _signed(session: str, device: str, keys: SessionKeys) -> bytes:
    return _KEYS + msgspec.json.encode([session, device, *keys])
