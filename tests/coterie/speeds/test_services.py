"""Each day is summed up by band, hourly, and ended once it is over."""

from datetime import date, timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from coterie.fleet.latencies import record_latencies
from coterie.fleet.models import Device
from coterie.registry.models import ModelVersion
from coterie.speeds.bands import divide, nearest
from coterie.speeds.models import SpeedDay
from coterie.speeds.pruning import old_days
from coterie.speeds.services import sum_up
from coterie_wire.latency import Histogram, Latency, Work
from tests.coterie.world import START, make_device, make_pair, make_version

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NOON = START.replace(hour=12, minute=0, second=0, microsecond=0)


def shape(*buckets: int) -> Histogram:
    counts = [0] * (max(buckets) + 1)
    for bucket in buckets:
        counts[bucket] += 1000 // len(buckets)
    return Histogram(tuple(counts))


def tell(device: Device, version: ModelVersion, *latencies: tuple[Work, str, Histogram], now=NOON, **more) -> None:
    told = [Latency(str(version.pk), work, form, durations, **more) for work, form, durations in latencies]
    record_latencies([(device, told)], now=now)


def days() -> dict[tuple[str, int, str, str, str], SpeedDay]:
    return {(row.by, row.band, row.work, row.form, row.charging): row for row in SpeedDay.objects.all()}


def test_sums_are_those_of_what_each_device_told_last() -> None:
    version = make_version(make_pair())
    one, alike, slow = make_device("one"), make_device("alike"), make_device("slow")
    tell(one, version, ("predict", "float32", shape(40)), hottest_c=50.0)
    tell(one, version, ("predict", "float32", shape(41)), ("predict", "int8", shape(30)), hottest_c=40.0)
    tell(alike, version, ("predict", "float32", shape(41, 60)))
    tell(slow, version, ("predict", "float32", shape(60)), ("step", "float32", shape(70)))
    sum_up(now=NOON)
    kept = days()
    assert kept.keys() == {
        ("predict", 41, "predict", "float32", "unknown"),
        ("predict", 41, "predict", "int8", "unknown"),
        ("predict", 60, "predict", "float32", "unknown"),
        ("predict", 60, "step", "float32", "unknown"),
        ("step", 70, "predict", "float32", "unknown"),
        ("step", 70, "step", "float32", "unknown"),
    }
    both = kept["predict", 41, "predict", "float32", "unknown"]
    assert both.devices == 2
    assert both.durations == {"counts": [0] * 41 + [1500] + [0] * 18 + [500]}
    assert (both.hottest_c, both.day) == (40.0, NOON.date()), "of what it told before nothing is left"


def test_who_left_and_forms_that_there_are_not_count_for_nothing() -> None:
    version, other = make_version(make_pair()), make_version(make_pair("other"))
    gone = make_device("gone")
    tell(gone, version, ("predict", "float32", shape(40)))
    Device.objects.filter(pk=gone.pk).update(state=Device.State.REVOKED)
    here = make_device("here")
    tell(here, version, ("predict", "float32", shape(40)), ("predict", "made_up", shape(40)))
    tell(make_device("elsewhere"), other, ("predict", "float32", shape(40)))
    sum_up(now=NOON)
    (row,) = SpeedDay.objects.filter(pair=version.pair)
    assert (row.form, row.devices) == ("float32", 1)
    assert SpeedDay.objects.filter(pair=other.pair).count() == 1


def test_a_day_is_written_anew_each_hour_and_ended_after_midnight() -> None:
    version, device = make_version(make_pair()), make_device("one")
    midnight = NOON + 12 * HOUR

    def taken(at) -> list[tuple[date, int]]:
        sum_up(now=at)
        return list(SpeedDay.objects.order_by("day").values_list("day", "band"))

    tell(device, version, ("predict", "float32", shape(40)))
    assert taken(NOON) == [(NOON.date(), 40)]
    tell(device, version, ("predict", "float32", shape(41)), now=NOON + HOUR / 4)
    assert taken(NOON + HOUR / 2) == [(NOON.date(), 40)]
    assert taken(NOON + HOUR) == [(NOON.date(), 41)]
    tell(device, version, ("predict", "float32", shape(42)), now=midnight - HOUR / 6)
    assert taken(midnight + HOUR / 12) == [(NOON.date(), 42)], "nothing is told of the day that has begun"
    tell(device, version, ("predict", "float32", shape(50)), now=midnight + HOUR)
    assert taken(midnight + 2 * HOUR) == [(NOON.date(), 42), (midnight.date(), 50)], "the day before stays as it was"


def test_a_fleets_figures_are_read_before_others_have_to_wait() -> None:
    version = make_version(make_pair())
    tell(make_device("one"), version, ("predict", "float32", shape(40)))
    with CaptureQueriesContext(connection) as queries:
        sum_up(now=NOON)
    statements = [query["sql"] for query in queries]
    begins = next(place for place, sql in enumerate(statements) if sql.startswith("SAVEPOINT"))
    assert any("fleet_devicelatency" in sql for sql in statements[:begins])
    assert not any("fleet_devicelatency" in sql for sql in statements[begins:])


def test_days_on_which_nothing_was_told_have_no_rows() -> None:
    version, device = make_version(make_pair()), make_device("one")
    tell(device, version, ("predict", "float32", shape(40)))
    sum_up(now=NOON)
    sum_up(now=NOON + 5 * DAY)
    assert SpeedDay.objects.count() == 1
    assert list(old_days(NOON)) == []
    assert old_days(NOON + DAY).count() == 1


@given(st.sets(st.integers(0, 99)), st.integers(0, 99))
def test_bands_divide_at_gaps_and_each_is_nearest_to_its_own(bands: set[int], other: int) -> None:
    spans = divide(bands)
    assert all(spans[nearest(spans, band)].distance(band) == 0 for band in bands)
    assert all(after.first - before.last > 2 for before, after in pairwise(spans))
    assert sum(any(span.first <= band <= span.last for span in spans) for band in bands) == len(bands)
    if spans:
        distance = spans[nearest(spans, other)].distance(other)
        assert all(span.distance(other) >= distance for span in spans)
