"""Of old rounds, parts that delivered nothing go, some at a time; what versions and receipts rest on stays."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db.models import QuerySet
from pytest_django.fixtures import Settings

from coterie.core import pruning
from coterie.core.rows import PARTS
from coterie.federations.models import Federation
from coterie.merging.models import Update
from coterie.rounds.models import Assignment, Round, Route
from coterie.rounds.pruning import OLD_ROWS
from coterie.rounds.selectors import INVITED
from tests.coterie.world import START, make_device, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db
LATER = START + timedelta(days=366)
PARTS_IN_VAIN, _ = OLD_ROWS
IN_VAIN = ("released", "dropped", "rejected")


@pytest.fixture
def federation() -> Federation:
    pair = make_pair()
    make_version(pair)
    return make_federation(pair)


def ended(federation: Federation, number: int, *, after: timedelta = timedelta(), **facts: object) -> Round:
    """A round that ended so long after the start, with one part in each state in which a part may end."""
    at = START + after
    version = make_version(federation.pair, seed=number)
    round_ = Round.objects.create(
        **{
            "federation": federation,
            "number": number,
            "state": "abandoned",
            "plan": federation.plan,
            "seed": 1,
            "base_version": version,
            "opens_at": at,
            "deadline_at": at,
            "closed_at": at,
            "finished_at": at,
            "reason_at": at,
            "tidied_at": at,
            **facts,
        }
    )
    for state in ("delivered", *IN_VAIN):
        device = make_device(f"{state} {number}")
        update = None
        if state == "delivered":
            update = Update.objects.create(
                federation=federation,
                device=device,
                base_version=version,
                cohort=round_.pk,
                received_at=at,
                sha256="a" * 64,
                size_bytes=9,
                samples=20,
                steps_done=5,
                steps_total=5,
                loss_before=1.5,
                loss_after=1.0,
                train_s=0.1,
            )
        part = Assignment.objects.create(
            round=round_,
            device=device,
            base_version=version,
            state=state,
            update=update,
            seed=1,
            offered_at=at,
            changed_at=at,
        )
        Route.objects.create(assignment=part, reason_code="c", reason_sentence="s", changed_at=at)
    return round_


def prune_parts(*, parts: int = PARTS) -> int:
    """How many parts are removed a year later."""
    return {one.name: one.rows for one in pruning.prune(now=LATER, parts=parts)}.get(PARTS_IN_VAIN.name, 0)


def states(round_: Round) -> list[str]:
    parts: QuerySet[Assignment] = round_.assignments.order_by("state")
    return list(parts.values_list("state", flat=True))


def test_what_came_to_nothing_goes_and_the_rest_stays(federation: Federation) -> None:
    old = ended(federation, 1)
    recent = ended(federation, 2, after=timedelta(days=2))
    assert prune_parts() == 3
    assert states(old) == ["delivered"]
    assert states(recent) == sorted(("delivered", *IN_VAIN))
    assert Update.objects.count() == 2
    assert Route.objects.filter(assignment__round=old).count() == 1
    assert Round.objects.count() == 2
    assert prune_parts() == 0


def test_how_many_a_round_has_asked_is_known_when_their_parts_are_gone(federation: Federation) -> None:
    ended(federation, 1)
    ended(federation, 2, tidied_at=None)
    for _ in range(2):
        found = Round.objects.annotate(devices=INVITED).order_by("number").values_list("devices", flat=True)
        assert list(found) == [4, 4]
        prune_parts()


def test_what_may_still_be_merged_again_or_delivered_stays(federation: Federation) -> None:
    untidied = ended(federation, 1, tidied_at=None)
    carries_on = ended(federation, 2, carries_on=True)
    assert prune_parts() == 2
    assert states(untidied) == sorted(("delivered", *IN_VAIN))
    assert states(carries_on) == ["delivered", "dropped"]


@pytest.mark.parametrize(("days", "gone"), [(0, 0), (30, 3), (367, 0)])
def test_the_setting_says_how_long_they_stay(federation: Federation, settings: Settings, days: int, gone: int) -> None:
    settings.KEEP_HISTORY_DAYS = days
    ended(federation, 1)
    assert prune_parts() == gone


def test_what_was_cut_off_goes_on(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "declared", lambda: [replace(PARTS_IN_VAIN, at_once=2)])
    for number in (1, 2):
        ended(federation, number)
    assert prune_parts(parts=1) == 2
    assert prune_parts() == 4
    assert Assignment.objects.count() == 2
