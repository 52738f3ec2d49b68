"""The platform's keys as a device pins them: the one it signs with, and how another takes its place."""

from collections.abc import Iterable
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from coterie_wire.bundle import SignedManifest, is_signed_by, read_signed, sign_content
from coterie_wire.relaying import PublicKey
from coterie_wire.version import PROTOCOL


class NextKey(msgspec.Struct, frozen=True):
    """What a platform signs with its key before it gives it up."""

    protocol: Annotated[int, Meta(ge=0, le=2**53)]
    key: PublicKey
    """Ed25519 public key that signs from now on."""
    former_until: Annotated[float, Meta(ge=0, le=2**53)]
    """Unix time in seconds until which devices also take what the former key has signed; 0: not any more."""


class FormerKey(NamedTuple):
    """A key that another has replaced."""

    key: bytes
    until: float
    """Unix time in seconds: what it signs and comes later is refused."""


class PlatformKeys(NamedTuple):
    """What a device trusts."""

    current: bytes
    former: tuple[FormerKey, ...] = ()
    """In the order in which they were replaced."""

    def trusted(self, *, at: float) -> tuple[bytes, ...]:
        """The public keys that something received at `at`, in seconds of Unix time, may be signed with."""
        return (self.current, *(former.key for former in self.former if at < former.until))

    def pinned(self) -> tuple[bytes, ...]:
        """Those that something which was received and verified before may be signed with."""
        return (self.current, *(former.key for former in self.former))

    def follow(self, statements: Iterable[SignedManifest]) -> "PlatformKeys":
        """What is trusted after `statements`, each a NextKey signed with the key that it replaces, the oldest first.

        One that was followed before changes nothing. Raises WireError ``bundle.*`` where a statement is not signed with
        the current key.
        """
        keys = self
        for signed in statements:
            if any(is_signed_by(signed, former.key) for former in keys.former):
                continue
            following = read_signed(signed, NextKey, keys.current)
            keys = PlatformKeys(following.key, (*keys.former, FormerKey(keys.current, following.former_until)))
        return keys


def sign_next_key(key: bytes, *, former_until: float, signing_key: bytes) -> SignedManifest:
    """The statement by `signing_key` that the public key `key` signs from now on."""
    return sign_content(msgspec.json.encode(NextKey(PROTOCOL, key, former_until)), signing_key)
