"""What the agent writes without a library for X.509 is what such libraries read."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from nacl.signing import SigningKey

from coterie_agent.certificate_request import certificate_request, key_and_certificates, key_in


@pytest.mark.parametrize("seed", [bytes(32), b"\xff" * 32, bytes(range(32))], ids=["zeros", "ones", "numbers"])
def test_a_request_is_for_its_key_and_signed_by_it(seed: bytes) -> None:
    key = SigningKey(seed)
    request = x509.load_der_x509_csr(certificate_request(key))
    asked = request.public_key()
    assert isinstance(asked, Ed25519PublicKey)
    assert asked.public_bytes_raw() == bytes(key.verify_key)
    assert request.is_signature_valid
    assert list(request.subject) == []
    damaged = bytearray(certificate_request(key))
    damaged[-1] ^= 1
    assert not x509.load_der_x509_csr(bytes(damaged)).is_signature_valid


def test_a_key_is_found_again_among_its_certificates() -> None:
    key = SigningKey.generate()
    file = key_and_certificates(key, (b"first" * 50, b"second"))
    read = load_pem_private_key(file, password=None)
    assert isinstance(read, Ed25519PrivateKey)
    assert read.private_bytes_raw() == bytes(key) == bytes(key_in(file))
    assert max(len(line) for line in file.splitlines()) <= 64


@pytest.mark.parametrize(
    "file",
    [
        b"",
        b"-----BEGIN PRIVATE KEY-----\nAAAA",
        b"-----BEGIN PRIVATE KEY-----\n*\n-----END PRIVATE KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    ],
)
def test_a_damaged_file_has_no_key(file: bytes) -> None:
    with pytest.raises(ValueError, match=r"key|base64|padding"):
        key_in(file)
