"""The append-only log of identities: the key that each device signs with.

Each head is the hash of the previous head and of an entry (a hash chain, as in Haber and Stornetta 1991, doi
10.1007/BF00196791). Every device reads and stores the whole log. The head is part of the digest of each list of
members: devices that were shown different logs share no masks, so that a platform which shows a fake member to one
device has to show it to all, permanently, where owners can find it.
"""

import hashlib
from collections.abc import Iterable, Mapping

from coterie_wire.errors import WireError
from coterie_wire.secure_sum import Member

EMPTY = hashlib.sha256(b"coterie identity log 1\n").digest()
"""The head of a log without entries [32 bytes]."""


def next_head(head: bytes, device: str, identity: bytes) -> bytes:
    """The head [32 bytes] after appending an entry."""
    return hashlib.sha256(head + device.encode() + b"\n" + identity).digest()


def check_logged(members: Iterable[Member], keys: Mapping[str, bytes]) -> None:
    """Raises WireError ``secure_sum.unknown_identity`` unless each signs with the logged key of its device."""
    for member in members:
        if keys.get(member.device) != member.identity:
            detail = f"the identity of device {member.device} is not in the log of identities"
            raise WireError("secure_sum.unknown_identity", detail)
