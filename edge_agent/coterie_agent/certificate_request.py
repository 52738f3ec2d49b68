"""PKCS #10 (RFC 2986) and PKCS #8 (RFC 8410) for an Ed25519 key, without a library for X.509.

With this kind of key, no subject and no attributes, everything but the key and its signature is constant.
"""

import base64

from nacl.signing import SigningKey

_PUBLIC_KEY = bytes.fromhex("302a300506032b6570032100")  # SubjectPublicKeyInfo of id-Ed25519, before its 32 bytes
_PRIVATE_KEY = bytes.fromhex("302e020100300506032b657004220420")  # OneAsymmetricKey, before the 32 bytes of the seed
_INFO = bytes.fromhex("30330201003000")  # CertificationRequestInfo: version 0, an empty subject
_NO_ATTRIBUTES = bytes.fromhex("a000")
_SIGNED = bytes.fromhex("300506032b6570034100")  # id-Ed25519, then a bit string of 64 bytes
_SEED_BYTES = 32
_KEY_LABEL = "PRIVATE KEY"
_LINE = 64
"""Characters (RFC 7468)."""


def certificate_request(key: SigningKey) -> bytes:
    """The request (DER) for a certificate of `key`."""
    info = _INFO + _PUBLIC_KEY + bytes(key.verify_key) + _NO_ATTRIBUTES
    body = info + _SIGNED + key.sign(info).signature
    return b"\x30" + bytes([len(body)]) + body


def key_and_certificates(key: SigningKey, chain: tuple[bytes, ...]) -> bytes:
    """One file (PEM) as TLS libraries read it: `key`, then the certificates (DER)."""
    return b"".join([_pem(_KEY_LABEL, _PRIVATE_KEY + bytes(key)), *(_pem("CERTIFICATE", each) for each in chain)])


def key_in(file: bytes) -> SigningKey:
    """The key in what `key_and_certificates` has written. Raises ValueError."""
    begin, end = (f"-----{word} {_KEY_LABEL}-----".encode() for word in ("BEGIN", "END"))
    _, has_begin, rest = file.partition(begin)
    text, has_end, _ = rest.partition(end)
    if not has_begin or not has_end:
        raise ValueError("the file has no private key")
    content = base64.b64decode(text)  # binascii.Error is a ValueError
    if len(content) != len(_PRIVATE_KEY) + _SEED_BYTES or not content.startswith(_PRIVATE_KEY):
        raise ValueError("its private key is not an Ed25519 key")
    return SigningKey(content[len(_PRIVATE_KEY) :])


def _pem(label: str, content: bytes) -> bytes:
    text = base64.b64encode(content)
    lines = [text[at : at + _LINE] for at in range(0, len(text), _LINE)]
    return b"\n".join([f"-----BEGIN {label}-----".encode(), *lines, f"-----END {label}-----\n".encode()])
