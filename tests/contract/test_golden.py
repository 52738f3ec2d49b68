"""What travels keeps its bytes, and bytes of old keep their meaning."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie_wire.bundle import SignedManifest, verify_key_of, verify_manifest
from coterie_wire.messages import decode, decode_platform_frame
from tests.contract.golden import CODECS, CODECS_SINCE, GOLDEN, RELEASES, golden_bytes
from tests.contract.samples import (
    MANIFEST,
    MESSAGES,
    PARAMETERS,
    PLATFORM_FRAMES,
    PROBLEM,
    REQUEST,
    SEED,
    SIGNING_KEY,
    UPDATE,
)

KEPT = sorted(path.name for path in GOLDEN.iterdir() if path.is_file())


@pytest.fixture(scope="module")
def written() -> Mapping[str, bytes]:
    return golden_bytes()


def test_every_sample_has_golden_bytes_and_no_others_lie_about(written: Mapping[str, bytes]) -> None:
    assert written.keys() == set(KEPT)


@pytest.mark.parametrize("name", KEPT)
def test_bytes_are_those_of_old(written: Mapping[str, bytes], name: str) -> None:
    assert written[name] == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize("struct", (*MESSAGES, REQUEST, PROBLEM), ids=lambda struct: type(struct).__name__)
def test_messages_of_old_are_understood(struct: msgspec.Struct) -> None:
    assert decode(type(struct), (GOLDEN / f"{type(struct).__name__}.json").read_bytes()) == struct


@pytest.mark.parametrize("frame", PLATFORM_FRAMES, ids=lambda frame: type(frame).__name__)
def test_frames_of_old_are_understood(frame: msgspec.Struct) -> None:
    assert decode_platform_frame((GOLDEN / f"{type(frame).__name__}.json").read_bytes()) == frame


def test_the_manifest_of_old_verifies() -> None:
    signed = SignedManifest(
        manifest=(GOLDEN / "manifest.json").read_bytes(), signature=(GOLDEN / "manifest.signature").read_bytes()
    )
    assert verify_manifest(signed, verify_key_of(SIGNING_KEY)) == MANIFEST


@pytest.mark.parametrize("directory", (GOLDEN, *RELEASES), ids=lambda path: path.name)
@pytest.mark.parametrize("name", CODECS)
def test_updates_of_old_are_decoded(name: str, directory: Path) -> None:
    decoded = CODECS[name].decode((directory / name).read_bytes(), expected=PARAMETERS)
    step = 9 / 8 * max(float(np.abs(tensor).max()) for tensor in UPDATE.values()) / 127
    for tensor_name, tensor in UPDATE.items():
        assert np.abs(decoded[tensor_name] - tensor).max() <= step


@pytest.mark.parametrize("name", CODECS_SINCE)
def test_updates_of_codecs_since_are_decoded(name: str) -> None:
    codec = CODECS_SINCE[name]
    decoded = codec.decode((GOLDEN / name).read_bytes(), expected=PARAMETERS)
    residual = codec.encode(UPDATE, seed=SEED).residual
    for tensor_name, tensor in UPDATE.items():
        np.testing.assert_allclose(decoded[tensor_name] + residual[tensor_name], tensor, rtol=0, atol=1e-5)
