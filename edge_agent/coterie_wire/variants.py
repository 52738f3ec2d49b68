"""Smaller forms of a version, which a device may predict with instead; training stays with the version itself."""

import hashlib
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_wire.bundle import BlobRef, Sha256, SignedManifest, read_signed, sign_content


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A form of a version by itself: the graph holds its parameters.

    It takes the model's inputs with any leading batch axis, and gives its output with the same.
    """

    name: Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,39}$")]
    graph: BlobRef


class Variants(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The smaller forms of one version, the most accurate first."""

    protocol: Annotated[int, Meta(ge=0, le=2**53)]
    version: str
    variants: Annotated[tuple[Variant, ...], Meta(max_length=8)]


def sign_variants(variants: Variants, signing_key: bytes) -> SignedManifest:
    """The list's bytes with their Ed25519 signature; equal lists give equal bytes."""
    return sign_content(msgspec.json.encode(variants), signing_key)


def verify_variants(signed: SignedManifest, *verify_keys: bytes) -> Variants:
    """The list that the platform signed.

    Raises WireError ``bundle.bad_signature``, ``bundle.malformed`` or ``bundle.protocol``.
    """
    return read_signed(signed, Variants, *verify_keys)


def digest_of(signed: SignedManifest) -> Sha256:
    """By which a device says that it knows the list."""
    return hashlib.sha256(signed.manifest).hexdigest()
