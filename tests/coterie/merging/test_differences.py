"""Versions that travel as differences: published, rolled back, offered to who can use them, and kept as long."""

import msgspec
import numpy as np
import pytest

from coterie.registry.collecting import Retention, collect
from coterie.registry.content import BLOBS
from coterie.registry.models import Blob, ModelVersion, Role, VersionDifference
from coterie.registry.selectors import device_blob
from coterie.registry.services import roll_back
from coterie_learning.differences import apply_difference
from coterie_learning.merge.fed_avg import FedAvg
from coterie_wire.bundle import Difference
from coterie_wire.tensors import Tensors, decode_tensors, encode_tensors
from tests.coterie.merging.test_server_state import DEVICES, Fleet, read, sent
from tests.coterie.world import MODEL, keep, later, parameters
from tests.coterie_learning.merge.folding import folded

pytestmark = pytest.mark.django_db

PLAN: dict[str, object] = {
    "down": {"kind": "difference", "encoding": {"kind": "sparse_levels", "step": 3, "feedback": True}}
}


def content(blob: Blob) -> bytes:
    with BLOBS.open(blob.pk) as file:
        return file.read()


def residual_of(version: ModelVersion) -> Tensors:
    residual = version.difference.residual
    assert residual is not None
    return decode_tensors(content(residual), expected=MODEL.parameters)


def test_devices_make_the_published_bits_of_the_version_before() -> None:
    fleet = Fleet(plan=PLAN)
    versions = [fleet.hold(number) for number in (1, 2, 3)]
    before = parameters(0)
    for version in versions:
        payload = content(version.difference.blob)
        assert encode_tensors(apply_difference(payload, MODEL, before)) == content(version.parameters)
        assert device_blob(version.difference.blob_id).size_bytes == len(payload)
        assert version.metrics["difference_bytes"] == len(payload)
        before = read(version)


@pytest.mark.long
def test_what_an_encoding_loses_is_in_the_next() -> None:
    """The control: without the residual, the version would be further from what was merged."""
    fleet = Fleet(plan=PLAN)
    first, second = fleet.hold(1), fleet.hold(2)
    plain = folded(FedAvg(), parameters(0), [sent(10 + place) for place in range(DEVICES)]).parameters
    for name, tensor in plain.items():
        np.testing.assert_allclose(read(first)[name] + residual_of(first)[name], tensor, rtol=0, atol=1e-6)
    assert any(np.abs(tensor).max() > 0 for tensor in residual_of(first).values())
    assert residual_of(second).keys() == residual_of(first).keys()


@pytest.mark.long
def test_a_roll_back_takes_the_residual_along() -> None:
    fleet = Fleet(plan=PLAN)
    first = fleet.hold(1)
    fleet.hold(2)
    roll_back(pair=first.pair, role=Role.DEVICE, to=first.pk, now=later(fleet.at_s))
    again = fleet.hold(2)
    assert again.parent_id == first.pk
    second = ModelVersion.objects.get(number=3, role=Role.DEVICE)
    assert content(again.difference.blob) == content(second.difference.blob)


@pytest.mark.parametrize(
    ("lacks", "held", "size", "offered"),
    [
        ("", True, "small", True),
        (" codec:int8 ", True, "small", False),
        ("", False, "small", False),
        ("", True, "large", False),
    ],
    ids=["offered", "another codec", "another version", "no smaller"],
)
def test_a_difference_is_offered_to_who_can_use_it(lacks: str, held: bool, size: str, offered: bool) -> None:
    fleet = Fleet(plan={"merge": {"kind": "fed_avg"}})
    first, second = fleet.hold(1), fleet.hold(2)
    blob = keep(b"d" if size == "small" else bytes(second.parameters.size_bytes))
    VersionDifference.objects.create(version=second, codec="int8", blob=blob)
    device = fleet.devices[0]
    type(device.row).objects.filter(pk=device.row.pk).update(lacks=lacks)
    device.version = str(first.pk if held else first.parent_id)
    directive = device.say(later(fleet.at_s))
    told = directive.difference if directive.assignment is None else directive.assignment.difference
    assert told == (Difference(base=first.parameters_id, blob=blob.reference()) if offered else None)
    assert (b"difference" in msgspec.json.encode(directive)) == offered


@pytest.mark.long
def test_differences_go_with_their_versions() -> None:
    fleet = Fleet(plan=PLAN)
    versions = [fleet.hold(number) for number in range(1, 6)]
    collect(retention=Retention(latest=2, every=0), in_use=set, now=later(90 * 86_400))
    kept = Blob.objects.filter(removed_at=None).values_list("pk", flat=True)
    there = [version.difference.blob_id in kept for version in versions]
    assert there == [False, False, False, True, True]
