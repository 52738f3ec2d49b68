"""Many rows at once hold what each was given, and no more rows than the constraints and conditions allow."""

from datetime import datetime

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from coterie.core.rows import Row, delete_in_parts, insert_all, update_each, upsert_all
from coterie.fleet.models import Device, Observation, Presence
from coterie.rounds.models import Assignment, Round
from tests.coterie.world import START, fleet_of, later, make_device, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db


def test_each_row_gets_its_own_values_and_only_where_it_is_as_expected() -> None:
    first, second, third = (make_device(name) for name in ("first", "second", "third"))
    Device.objects.filter(pk=third.pk).update(state=Device.State.LEFT)
    rows = [
        Row(first.pk, ({"charging": "yes"}, later(1), 3.5)),
        Row(second.pk, ({"charging": "no"}, None, None)),
        Row(third.pk, ({"charging": "no"}, later(1), 1.0)),
    ]
    columns = ("conditions", "last_seen_at", "train_step_s")
    with CaptureQueriesContext(connection) as captured:
        update_each(Device, columns, rows, where={"state": Device.State.ENROLLED})
    assert len(captured.captured_queries) == 1
    assert list(Device.objects.order_by("name").values_list("name", *columns)) == [
        ("first", {"charging": "yes"}, later(1), 3.5),
        ("second", {"charging": "no"}, None, None),
        ("third", {}, None, None),
    ]


def test_nothing_to_change_and_nothing_to_insert_ask_nothing() -> None:
    with CaptureQueriesContext(connection) as captured:
        update_each(Device, ("name",), [], where={})
        insert_all([])
        upsert_all([])
    assert not captured.captured_queries


def test_rows_are_inserted_as_they_are_with_the_defaults_of_their_model() -> None:
    devices = [make_device(name) for name in ("first", "second")]
    observed = [
        Observation(device=device, at=START, conditions={"idle": number}, blockers=[])
        for number, device in enumerate(devices)
    ]
    with CaptureQueriesContext(connection) as captured:
        insert_all(observed)
    assert len(captured.captured_queries) == 1
    found = Observation.objects.order_by("pk").values_list("device__name", "at", "conditions", "held_version")
    assert list(found) == [("first", START, {"idle": 0}, ""), ("second", START, {"idle": 1}, "")]


def test_rows_are_written_over_those_with_the_same_keys() -> None:
    first, second = (make_device(name) for name in ("first", "second"))
    upsert_all([Presence(device=first, seen_at=START, until=later(1))])
    with CaptureQueriesContext(connection) as captured:
        heard = [Presence(device=device, seen_at=later(2), until=later(3)) for device in (second, first)]
        upsert_all(heard, former={"seen_before_at": "seen_at"})
    assert len(captured.captured_queries) == 1
    found = Presence.objects.order_by("device__name").values_list("device", "seen_at", "seen_before_at", "until")
    assert list(found) == [(first.pk, later(2), START, later(3)), (second.pk, later(2), None, later(3))]


def test_what_a_constraint_forbids_is_left_out() -> None:
    pair = make_pair()
    version = make_version(pair)
    make_federation(pair, target_updates=9)
    asked, free = fleet_of(2)
    asked.check_in(later(0))
    round_ = Round.objects.get()
    parts = [
        Assignment(round=round_, device=device.row, base_version=version, seed=1, offered_at=START, changed_at=START)
        for device in (asked, free)
    ]
    insert_all(parts, or_nothing=True)
    assert set(Assignment.objects.values_list("device", flat=True)) == {asked.row.pk, free.row.pk}
    assert not Assignment.objects.filter(pk=parts[0].pk).exists()
    assert Assignment.objects.get(pk=parts[1].pk).state == Assignment.State.OFFERED


def test_rows_that_are_about_to_go_are_folded_once_and_go_only_with_that() -> None:
    device = make_device("kitchen")
    insert_all([Observation(device=device, at=later(second), conditions={}, blockers=[]) for second in range(5)])
    folded: list[list[datetime]] = []

    def fold(rows: QuerySet[Observation]) -> None:
        folded.append([row.at for row in rows.order_by("at")])
        if len(folded) == 2:
            raise RuntimeError("killed")

    old = Observation.objects.order_by("at")
    with pytest.raises(RuntimeError, match="killed"):
        delete_in_parts(old, at_once=2, fold=fold)
    assert [row.at for row in old.all()] == [later(second) for second in (2, 3, 4)]
    assert delete_in_parts(old, at_once=2, fold=fold) == 3
    assert folded == [[later(0), later(1)], [later(2), later(3)], [later(2), later(3)], [later(4)]]


@pytest.mark.parametrize(("parts", "left"), [(200, 2), (3, 2), (2, 3)])
def test_rows_are_deleted_in_parts_until_none_is_left_or_the_parts_are_used_up(parts: int, left: int) -> None:
    device = make_device("kitchen")
    insert_all([Observation(device=device, at=later(second), conditions={}, blockers=[]) for second in range(7)])
    old = Observation.objects.filter(at__lt=later(5)).order_by("at")
    assert delete_in_parts(old, at_once=2, parts=parts) == 7 - left
    assert [row.at for row in Observation.objects.order_by("at")] == [later(second) for second in range(7 - left, 7)]
