"""JSON of some length is compressed for whoever takes it, and nothing else is."""

import gzip
import json

import pytest
from rest_framework.test import APIClient

from tests.coterie.downloads import downloaded
from tests.coterie.world import make_device

pytestmark = pytest.mark.django_db
DEVICES = 20


@pytest.fixture(autouse=True)
def fleet() -> None:
    for number in range(DEVICES):
        make_device(f"device-{number}")


def test_a_list_travels_compressed(api: APIClient) -> None:
    plain = api.get("/api/devices/")
    packed = api.get("/api/devices/", headers={"Accept-Encoding": "gzip, br"})
    assert not plain.has_header("Content-Encoding")
    assert packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"]
    assert len(packed.content) < len(plain.content) / 4
    assert json.loads(gzip.decompress(packed.content)) == plain.json()


def test_a_download_stays_as_it_is(api: APIClient) -> None:
    table = api.get("/api/devices/", {"format": "csv"}, headers={"Accept-Encoding": "gzip"})
    assert not table.has_header("Content-Encoding")
    assert downloaded(table).count(b"\n") == DEVICES + 1
