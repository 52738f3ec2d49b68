"""The log of identities: which key each device signs with, in the order in which they came, and no entry ever changed.

Each head is the hash of the one before and of an entry (a hash chain, as in Haber and Stornetta 1991, doi
10.1007/BF00196791). Every device reads the whole log and keeps it. The head goes into the digest of each list of
members: devices that were shown different logs share no masks, so that whoever shows one device an invented member has
to show it to all, for good, where owners find it.
"""

import hashlib
from collections.abc import Iterable, Mapping

from coterie_wire.errors import WireError
from coterie_wire.secure_sum import Member

EMPTY = hashlib.sha256(b"coterie identity log 1\n").digest()
"""The head of a log without entries [32 bytes]."""


def next_head(head: bytes, device: str, identity: bytes) -> bytes:
    """The head [32 bytes] after one more entry."""
    return hashlib.sha256(head + device.encode() + b"\n" + identity).digest()


def check_logged(members: Iterable[Member], keys: Mapping[str, bytes]) -> None:
    """Raises WireError ``secure_sum.unknown_identity`` unless each signs with the key that is logged of its device."""
    for member in members:
        if keys.get(member.device) != member.identity:
            detail = f"the identity of device {member.device} is not in the log of identities"
            raise WireError("secure_sum.unknown_identity", detail)
