"""What devices tell of how quick they are is kept, the newest of each kind of work and condition."""

from uuid import UUID

import pytest
from rest_framework.test import APIClient

from coterie.fleet.latencies import record_latencies
from coterie.fleet.models import DeviceLatency
from coterie_wire.latency import Histogram, Latency
from tests.coterie.world import START, later, make_device, make_pair, make_version

pytestmark = pytest.mark.django_db
FIRST, SECOND = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"


def latency(version: str = FIRST, work: str = "predict", bucket: int = 40, **more: object) -> Latency:
    return Latency(version, work, "float32", Histogram((*(0,) * bucket, 1000)), **more)


def test_the_newest_replaces_what_was_told_before() -> None:
    device, other = make_device("one"), make_device("other")
    record_latencies(
        [(device, [latency(), latency(work="step", bucket=48)]), (other, [latency(charging="no")])], now=START
    )
    told = [latency(SECOND, bucket=44, hottest_c=41.5)]
    record_latencies([(device, told)], now=later(60))
    kept = {(row.device.name, row.work, row.charging): row for row in DeviceLatency.objects.select_related("device")}
    assert kept.keys() == {("one", "predict", "unknown"), ("one", "step", "unknown"), ("other", "predict", "no")}
    newest = kept["one", "predict", "unknown"]
    assert (newest.version, newest.hottest_c, newest.at) == (UUID(SECOND), 41.5, later(60))
    assert newest.p50_s == newest.p99_s == pytest.approx(2 ** (44.5 / 4) / 1e6)


def test_what_is_no_version_or_holds_nothing_is_left_out_and_repeats_count_once() -> None:
    device = make_device("one")
    empty = Latency(FIRST, "step", "float32", Histogram())
    record_latencies([(device, [latency("none"), empty, latency(), latency(SECOND)])], now=START)
    (kept,) = DeviceLatency.objects.all()
    assert kept.version == UUID(SECOND)


def test_operators_read_them_of_a_device_and_of_a_pair_in_classes(api: APIClient) -> None:
    version = make_version(make_pair())
    quick, slow = make_device("quick"), make_device("slow")
    for device, bucket in ((quick, 40), (slow, 48)):
        record_latencies([(device, [latency(str(version.pk), bucket=bucket)])], now=START)
    (told,) = api.get(f"/api/devices/{quick.pk}/latencies/").json()
    assert (told["work"], told["form"], told["version"]) == ("predict", "float32", str(version.pk))
    classes = api.get(f"/api/pairs/{version.pair_id}/speed-classes/").json()
    assert [one["devices"] for one in classes] == [1, 1]
    assert classes[1]["speeds"][0]["p50_s"] == pytest.approx(4 * classes[0]["speeds"][0]["p50_s"])
