"""How quick devices are is read in classes, now and day by day, as pages and as CSV."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from coterie.registry.models import ModelPair
from coterie.speeds.models import SpeedDay
from tests.coterie.downloads import downloaded
from tests.coterie.world import make_pair, make_version

pytestmark = pytest.mark.django_db


def day(
    pair: ModelPair, ago: int, band: int, *, devices: int = 1, work: str = "predict", form: str = "float32"
) -> None:
    SpeedDay.objects.create(
        pair=pair,
        day=timezone.now().date() - timedelta(days=ago),
        by="predict",
        band=band,
        work=work,
        form=form,
        charging="yes",
        devices=devices,
        durations={"counts": [0] * band + [1000 * devices]},
        hottest_c=30.0 + band,
        taken_at=timezone.now(),
    )


def test_a_class_that_slows_down_as_a_whole_stays_the_same(api: APIClient) -> None:
    pair = make_version(make_pair()).pair
    for ago, quick, slow in ((2, 40, 60), (1, 44, 64), (0, 46, 66)):
        day(pair, ago, quick, devices=3)
        day(pair, ago, quick + 1)
        day(pair, ago, slow)
    listed = api.get(f"/api/pairs/{pair.pk}/speed-history/").json()
    assert listed["count"] == 6
    today, _, yesterday = listed["results"][0], listed["results"][1], listed["results"][2]
    assert (today["number"], today["classes"], today["devices"]) == (1, 2, 4)
    assert today["p50_s"] == pytest.approx(2 ** (46.5 / 4) / 1e6)
    assert today["p99_s"] == pytest.approx(2 ** (47.5 / 4) / 1e6), "a quarter of the sum is a band slower"
    assert (today["class_from_s"], today["class_to_s"]) == pytest.approx((2 ** (46 / 4) / 1e6, 2**12 / 1e6))
    assert today["hottest_c"] == 77.0
    assert (yesterday["number"], yesterday["p50_s"]) == (1, pytest.approx(2 ** (44.5 / 4) / 1e6))


def test_what_is_asked_for_is_read_in_pages_and_as_csv(api: APIClient) -> None:
    pair = make_version(make_pair()).pair
    for ago in range(3):
        day(pair, ago, 40)
        day(pair, ago, 60)
        day(pair, ago, 40, form="int8")
        day(pair, ago, 40, work="step")
    day(pair, 200, 40)
    path = f"/api/pairs/{pair.pk}/speed-history/"
    assert api.get(path).json()["count"] == 12
    assert api.get(path, {"days": 365}).json()["count"] == 13
    assert api.get(path, {"form": "int8"}).json()["count"] == 3
    assert api.get(path, {"work": "predict", "form": "float32", "number": 2}).json()["count"] == 3
    paged = api.get(path, {"page_size": 5, "page": 3}).json()
    assert (len(paged["results"]), paged["next"]) == (2, None)
    table = api.get(path, {"format": "csv", "work": "step"})
    lines = downloaded(table).decode().splitlines()
    assert lines[0].startswith("work,form,charging,devices,p50_s")
    assert len(lines) == 4
    assert 'filename="speed-history.csv"' in table["Content-Disposition"]


@pytest.mark.parametrize(
    "query", [{"work": "dream"}, {"days": 0}, {"number": 0}, {"colour": "red"}, {"charging": "of"}]
)
def test_what_is_no_question_is_refused(api: APIClient, query: dict[str, object]) -> None:
    pair = make_version(make_pair()).pair
    refused = api.get(f"/api/pairs/{pair.pk}/speed-history/", query)
    assert (refused.status_code, refused.json()["code"]) == (400, "rest.invalid")


def test_nothing_told_is_no_error_and_no_pair_is_one(api: APIClient) -> None:
    pair = make_version(make_pair()).pair
    assert api.get(f"/api/pairs/{pair.pk}/speed-history/").json()["results"] == []
    assert api.get(f"/api/pairs/{pair.pk.hex[::-1]}/speed-history/").status_code == 404
