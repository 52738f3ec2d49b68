"""Masks: streams of numbers, pairwise or of one device, added modulo a power of two.

The stream of a seed is libsodium's ChaCha20 generator, with a separate seed for each block of numbers, so that a server
removes masks block by block in bounded memory. A secret agreed by X25519 (RFC 7748) is never used directly: keyed
BLAKE2b (RFC 7693) derives a key for each purpose. Both public keys are inputs of the derivation, as RFC 7748 advises:
several public keys give the same shared secrets, such as a key and its sum with a point of small order, and a device
that takes part with a disguised copy of another's key must not share a mask or a box with that device's peers.
"""

import hashlib
from typing import Any

import numpy as np
from nacl.bindings import (
    crypto_aead_chacha20poly1305_ietf_decrypt,
    crypto_aead_chacha20poly1305_ietf_encrypt,
    crypto_scalarmult,
    crypto_scalarmult_base,
)
from nacl.exceptions import CryptoError
from nacl.utils import randombytes_deterministic
from numpy.typing import NDArray

from coterie_wire.errors import WireError

UInt = NDArray[np.unsignedinteger[Any]]
DRAWN = 1 << 16
"""Numbers of a block; a span inside one is drawn from the block's beginning."""
_NONCE = bytes(12)
"""A constant nonce, since each box has its own key."""
_FIELD = 2**255 - 19
_ORDER_8 = (
    0x00B8495F16056286FDB1329CEB8D09DA6AC49FF1FAE35616AEB8413B7C7AEBE0,
    0x57119FD0DD4E22D8868E1C58C45C44045BEF839C55B1D0B1248C50A3BC959C5F,
)
_SMALL_ORDER = frozenset({0, 1, _FIELD - 1, *_ORDER_8})
"""Coordinates of the points of small order (1, 2, 4 and 8), on the curve and on its twist."""


def public_key(secret: bytes) -> bytes:
    """The X25519 public key [32 bytes]."""
    return bytes(crypto_scalarmult_base(secret))


def is_key(public: bytes) -> bool:
    """Whether `public` [32 bytes] is a valid X25519 key, with which a secret can be agreed."""
    coordinate = int.from_bytes(public, "little") & ((1 << 255) - 1)
    return coordinate % _FIELD not in _SMALL_ORDER


def commitment(seed: bytes) -> bytes:
    """The published commitment [32 bytes] to the seed of a device's own mask."""
    return _derived(seed, b"coterie own mask commitment")


def pair_seed(secret: bytes, other: bytes, digest: bytes) -> bytes:
    """The seed [32 bytes] of the mask that the owners of `secret` and of the public key `other` share in one sum.

    Raises WireError ``secure_sum.wrong_key`` where `other` is not a valid key.
    """
    lower, higher = sorted((public_key(secret), other))
    return _derived(_agreed(secret, other), b"coterie pair mask" + digest + lower + higher)


def add_mask(numbers: UInt, seed: bytes, name: str, start: int = 0, *, subtract: bool = False) -> None:
    """Add or subtract elements [start, start + count) of the mask `name` to `numbers`, in place, modulo their type.

    Different names have independent masks.
    """
    kind = numbers.dtype.newbyteorder("<")
    at, end = start, start + len(numbers)
    while at < end:
        block = at // DRAWN
        stop = min(end, (block + 1) * DRAWN)
        key = _derived(seed, f"{name}\n{block}".encode())
        drawn: UInt = np.frombuffer(randombytes_deterministic((stop - block * DRAWN) * kind.itemsize, key), kind)
        span, mask = numbers[at - start : stop - start], drawn[at - block * DRAWN :]
        if subtract:
            span -= mask
        else:
            span += mask
        at = stop


def seal(content: bytes, *, secret: bytes, to: bytes, digest: bytes) -> bytes:
    """Encrypt a box that only the owner of the channel key `to` can open, in the sum of the list with `digest`.

    ChaCha20-Poly1305 (RFC 8439). Raises WireError ``secure_sum.wrong_key``.
    """
    key = _box_key(secret, to, digest + public_key(secret) + to)
    return bytes(crypto_aead_chacha20poly1305_ietf_encrypt(content, digest, _NONCE, key))


def unseal(box: bytes, *, secret: bytes, sender: bytes, digest: bytes) -> bytes:
    """Decrypt a box from the owner of channel key `sender`.

    Raises WireError ``secure_sum.wrong_box`` where sender, receiver or list differ.
    """
    key = _box_key(secret, sender, digest + sender + public_key(secret))
    try:
        return bytes(crypto_aead_chacha20poly1305_ietf_decrypt(box, digest, _NONCE, key))
    except CryptoError as error:
        raise WireError("secure_sum.wrong_box", "a box of shares does not open") from error


def _box_key(secret: bytes, other: bytes, where: bytes) -> bytes:
    """`where` identifies the list, the sender and the receiver, so that a key encrypts one box only."""
    return _derived(_agreed(secret, other), b"coterie box of shares" + where)


def _agreed(secret: bytes, other: bytes) -> bytes:
    try:
        return bytes(crypto_scalarmult(secret, other))
    except (CryptoError, RuntimeError) as error:  # a point of small order
        raise WireError("secure_sum.wrong_key", "a public key is of no use") from error


def _derived(key: bytes, what: bytes) -> bytes:
    return hashlib.blake2b(what, key=key, digest_size=32).digest()
