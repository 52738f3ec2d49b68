"""Forecasts of old rounds go, but for those that a federation's forecasts are judged by."""

from datetime import timedelta

import pytest

from coterie.core.pruning import prune
from coterie.federations.models import Federation
from coterie.rounds.models import Round
from coterie.twin.calibration import LATEST
from coterie.twin.models import Forecast
from coterie.twin.selectors import calibration_of
from tests.coterie.world import START, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db
EXTRA = 3


@pytest.fixture
def federation() -> Federation:
    pair = make_pair()
    make_version(pair)
    return make_federation(pair)


def forecast(federation: Federation, number: int, *, compared: bool = True) -> None:
    at = START + timedelta(hours=number)
    round_ = Round.objects.create(
        federation=federation, number=number, state=Round.State.ABANDONED, seed=1, opens_at=at, finished_at=at
    )
    expected = {f"{name}{end}": 1.0 for name in ("duration", "lost", "up_bytes") for end in ("_low", "", "_high")}
    expected = {f"{name}_s" if name.startswith("duration") else name: one for name, one in expected.items()}
    happened = {"compared_at": at, "happened_duration_s": 1.0, "happened_lost": 1.0, "happened_up_bytes": 1.0}
    Forecast.objects.create(round=round_, made_at=at, history=1, **expected, **(happened if compared else {}))


def test_the_latest_that_were_compared_stay_however_old(federation: Federation) -> None:
    for number in range(1, LATEST + EXTRA + 1):
        forecast(federation, number)
    forecast(federation, LATEST + EXTRA + 1, compared=False)
    before = calibration_of(federation)
    prune(now=START + timedelta(days=300))
    assert Forecast.objects.count() == LATEST + EXTRA + 1, "they are recent"
    prune(now=START + timedelta(days=800))
    numbers = list(Forecast.objects.order_by("round__number").values_list("round__number", flat=True))
    assert numbers == list(range(EXTRA + 1, LATEST + EXTRA + 2))
    assert calibration_of(federation) == before
