"""Certificates for mutual TLS: a device's request (PKCS #10), signed with its earlier keys, and the reply."""

from typing import Annotated

from msgspec import Meta

from coterie_wire.message import Message

MAX_PROOFS = 2
MAX_CHAIN = 8
_PURPOSE = b"coterie: the next certificate\0"


class AskCertificate(Message, frozen=True):
    """Certify a key that the device has generated. It is sent over a connection without a client certificate, because
    a device whose certificate has expired sends it too."""

    request: Annotated[bytes, Meta(max_length=4096)]
    """A PKCS #10 request (RFC 2986, DER) for an Ed25519 key; its subject is not read."""
    proofs: Annotated[
        tuple[Annotated[bytes, Meta(min_length=64, max_length=64)], ...], Meta(max_length=MAX_PROOFS)
    ] = ()
    """Ed25519 signatures of `proven_content` with the keys of the device's present certificate and the one before;
    none: it never had one."""


class Certified(Message, frozen=True):
    """The certificate, which the device presents from now on."""

    chain: Annotated[tuple[Annotated[bytes, Meta(max_length=8192)], ...], Meta(min_length=1, max_length=MAX_CHAIN)]
    """X.509 certificates (DER): the device's own, then the intermediate authorities up to one that a server trusts."""


def proven_content(request: bytes) -> bytes:
    """The bytes that the key of an earlier certificate signs to prove that the request is the same device's."""
    return _PURPOSE + request
