"""The platform's signing keys as a device pins them, and signed statements by which a new key replaces the old one."""

from collections.abc import Iterable
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from coterie_wire.bundle import SignedManifest, is_signed_by, read_signed, sign_content
from coterie_wire.relaying import PublicKey
from coterie_wire.version import PROTOCOL


class NextKey(msgspec.Struct, frozen=True):
    """The statement, signed with the old key, that another key replaces it."""

    protocol: Annotated[int, Meta(ge=0, le=2**53)]
    key: PublicKey
    """Ed25519 public key of the key that signs from now on."""
    former_until: Annotated[float, Meta(ge=0, le=2**53)]
    """Unix time in seconds until which devices also accept signatures of the former key; 0: they no longer do."""


class FormerKey(NamedTuple):
    """A public key that another has replaced."""

    key: bytes
    until: float
    """Unix time in seconds; content that it has signed is refused when it arrives later."""


class PlatformKeys(NamedTuple):
    """The public keys of the platform that a device trusts."""

    current: bytes
    former: tuple[FormerKey, ...] = ()
    """Former keys, in the order in which they were replaced."""

    def trusted(self, *, at: float) -> tuple[bytes, ...]:
        """Keys with which content received at `at`, in seconds of Unix time, may be signed."""
        return (self.current, *(former.key for former in self.former if at < former.until))

    def pinned(self) -> tuple[bytes, ...]:
        """Keys with which content that was received and verified earlier may be signed."""
        return (self.current, *(former.key for former in self.former))

    def follow(self, statements: Iterable[SignedManifest]) -> "PlatformKeys":
        """The keys after `statements`, the oldest first, each a NextKey signed with the key that it replaces.

        A statement that was followed before changes nothing. Raises WireError ``bundle.*`` where a statement is not
        signed with the current key.
        """
        keys = self
        for signed in statements:
            if any(is_signed_by(signed, former.key) for former in keys.former):
                continue
            following = read_signed(signed, NextKey, keys.current)
            keys = PlatformKeys(following.key, (*keys.former, FormerKey(keys.current, following.former_until)))
        return keys


def sign_next_key(key: bytes, *, former_until: float, signing_key: bytes) -> SignedManifest:
    """The statement, signed by `signing_key`, that the public key `key` replaces it."""
    return sign_content(msgspec.json.encode(NextKey(PROTOCOL, key, former_until)), signing_key)
