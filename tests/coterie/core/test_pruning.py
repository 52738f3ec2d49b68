"""What only tells of the past goes by the rules that each app declares; one that fails keeps no other."""

from datetime import timedelta
from typing import NoReturn

import pytest
from django.db.models import QuerySet
from pytest_django.fixtures import Settings

from coterie.core import pruning
from coterie.core.pruning import OldRows, Pruned, count_old, declared, deleted_after_days, prune
from coterie.fleet.models import Observation
from tests.coterie.world import START, later, make_device

pytestmark = pytest.mark.django_db


def observed_before(_before: object) -> QuerySet[Observation]:
    return Observation.objects.filter(at__lt=_before)


SEEN = OldRows("observations", observed_before)


@pytest.fixture
def observation() -> Observation:
    return Observation.objects.create(device=make_device("kitchen"), at=START, conditions={}, blockers=[])


def test_every_kind_that_is_declared_can_be_asked_for_and_is_named_once(settings: Settings) -> None:
    told = count_old(now=START)
    assert [one.name for one in told] == [kind.name for kind in declared()]
    assert len({one.name for one in told}) == len(told) > 5
    assert {one.rows for one in told} == {0}
    assert prune(now=START) == told
    settings.KEEP_HISTORY_DAYS = 0
    assert count_old(now=START) == prune(now=START) == []


def test_what_ended_long_ago_is_counted_and_goes(observation: Observation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "declared", lambda: [SEEN])
    gone = [Pruned("observations", "fleet.Observation", 1)]
    assert count_old(now=later(60))[0].rows == prune(now=later(60))[0].rows == 0
    assert count_old(now=START + timedelta(days=366)) == gone
    assert Observation.objects.exists()
    assert prune(now=START + timedelta(days=366)) == gone
    assert not Observation.objects.exists()


def test_rows_are_said_to_be_gone_when_they_go(settings: Settings) -> None:
    ended = START
    year = START + timedelta(days=365)
    assert deleted_after_days(ended, now=year) is None, "not before they go"
    assert deleted_after_days(ended, now=year + timedelta(seconds=1)) == 365
    assert deleted_after_days(None, now=later(10**9)) is None, "it has not ended"
    settings.KEEP_HISTORY_DAYS = 0
    assert deleted_after_days(ended, now=later(10**9)) is None, "all is kept"


def test_a_kind_that_fails_keeps_no_other(observation: Observation, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_rows: object) -> NoReturn:
        raise RuntimeError("broken")

    monkeypatch.setattr(pruning, "declared", lambda: [OldRows("broken", observed_before, fold=fail), SEEN])
    with pytest.raises(ExceptionGroup) as failed:
        prune(now=START + timedelta(days=366))
    assert [str(error) for error in failed.value.exceptions] == ["broken"]
    assert not Observation.objects.exists()
