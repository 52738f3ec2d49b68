"""How a device asks for the certificate of its connection (mutual TLS): PKCS #10, and who vouches for the new key."""

from typing import Annotated

from msgspec import Meta

from coterie_wire.message import Message

MAX_PROOFS = 2
MAX_CHAIN = 8
_PURPOSE = b"coterie: the next certificate\0"


class AskCertificate(Message, frozen=True):
    """Certify a key that the device has drawn. It goes over a connection without a certificate, since it is what a
    device sends whose certificate has expired."""

    request: Annotated[bytes, Meta(max_length=4096)]
    """A PKCS #10 request (RFC 2986, DER) for an Ed25519 key; its subject is not read."""
    proofs: Annotated[
        tuple[Annotated[bytes, Meta(min_length=64, max_length=64)], ...], Meta(max_length=MAX_PROOFS)
    ] = ()
    """Ed25519 signatures of `proven_content` with the keys of the device's present certificate and the one before;
    none: it never had one."""


class Certified(Message, frozen=True):
    """The certificate; the device shows it from now on."""

    chain: Annotated[tuple[Annotated[bytes, Meta(max_length=8192)], ...], Meta(min_length=1, max_length=MAX_CHAIN)]
    """X.509 (DER): the device's, then those of the authorities that lead from it to one that a server trusts."""


def proven_content(request: bytes) -> bytes:
    """What the key of a former certificate signs, so that the next one is given for it."""
    return _PURPOSE + request
