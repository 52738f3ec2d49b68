"""Manifests: what the platform signed verifies, anything else is refused."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.signing import SigningKey

from coterie_wire.bundle import (
    BlobRef,
    SignedManifest,
    new_signing_key,
    sign_manifest,
    verify_key_of,
    verify_manifest,
)
from coterie_wire.errors import WireError
from coterie_wire.version import PROTOCOL
from tests.contract.samples import MANIFEST, SIGNING_KEY


def signed(content: bytes) -> SignedManifest:
    return SignedManifest(manifest=content, signature=SigningKey(SIGNING_KEY).sign(content).signature)


def refusal(signed_manifest: SignedManifest, verify_key: bytes = verify_key_of(SIGNING_KEY)) -> str:
    with pytest.raises(WireError) as caught:
        verify_manifest(signed_manifest, verify_key)
    return caught.value.code


def test_a_signed_manifest_verifies() -> None:
    key = new_signing_key()
    assert verify_manifest(sign_manifest(MANIFEST, key), verify_key_of(key)) == MANIFEST


def test_another_platforms_manifest_is_refused() -> None:
    assert refusal(sign_manifest(MANIFEST, new_signing_key())) == "bundle.bad_signature"


@given(position=st.integers(0, 10_000), value=st.integers(1, 255))
@settings(max_examples=50)
def test_a_changed_byte_is_refused(position: int, value: int) -> None:
    whole = sign_manifest(MANIFEST, SIGNING_KEY)
    content = bytearray(whole.manifest + whole.signature)
    content[position % len(content)] ^= value
    changed = SignedManifest(manifest=bytes(content[:-64]), signature=bytes(content[-64:]))
    assert refusal(changed) == "bundle.bad_signature"


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b'{"protocol":1}', b'{"protocol":1,"pair":"\xff"}'])
def test_a_signed_manifest_of_another_shape_is_malformed(content: bytes) -> None:
    assert refusal(signed(content)) == "bundle.malformed"


def test_a_manifest_of_a_newer_protocol_is_refused_as_such_whatever_its_shape() -> None:
    newer = {"protocol": PROTOCOL + 1, "something": "new"}
    assert refusal(signed(msgspec.json.encode(newer))) == "bundle.protocol"


def test_a_blob_is_named_by_its_content(tmp_path: Path) -> None:
    content = b"abc" * 1_000_000
    path = tmp_path / "blob"
    path.write_bytes(content)
    assert BlobRef.of_file(path) == BlobRef.of_bytes(content)
    assert BlobRef.of_bytes(b"") == BlobRef(
        sha256="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", size_bytes=0
    )
