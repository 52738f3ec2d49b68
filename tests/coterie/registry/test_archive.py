import zipfile
from typing import BinaryIO

import msgspec
import pytest

from coterie.registry.archive import archive
from coterie.registry.models import Role
from coterie_wire.bundle import BlobRef, Manifest
from tests.coterie.world import START, make_pair, make_version

pytestmark = pytest.mark.django_db


def read(file: BinaryIO) -> dict[str, bytes]:
    with file, zipfile.ZipFile(file) as members:
        return {name: members.read(name) for name in members.namelist()}


def test_a_device_version_holds_what_its_manifest_names() -> None:
    members = read(archive(make_version(make_pair()), now=START))
    manifest = msgspec.json.decode(members["manifest.json"], type=Manifest)
    assert manifest.train_step == BlobRef.of_bytes(members["train_step.onnx"])
    assert manifest.predict == BlobRef.of_bytes(members["predict.onnx"])
    assert manifest.parameters == BlobRef.of_bytes(members["parameters.safetensors"])


def test_a_cloud_version_holds_its_parameters() -> None:
    assert list(read(archive(make_version(make_pair(), role=Role.CLOUD), now=START))) == ["parameters.safetensors"]


def test_the_same_version_is_the_same_file() -> None:
    version = make_version(make_pair())
    with archive(version, now=START) as one, archive(version, now=START) as other:
        assert one.read() == other.read()
