"""Smaller forms of a version, e.g. int8, with which a device may predict; it always trains the version itself."""

import hashlib
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_wire.bundle import BlobRef, Sha256, SignedManifest, read_signed, sign_content


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A smaller form of a version, as a graph that contains its parameters.

    The graph takes the model's inputs with any leading batch axis, and gives its output with the same batch axis.
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
    """SHA-256 with which a device reports the list that it has."""
    return hashlib.sha256(signed.manifest).hexdigest()
