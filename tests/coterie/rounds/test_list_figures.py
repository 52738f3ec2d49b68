"""What lists show beside a row's own columns, and that a page costs as many queries as one row."""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from coterie.federations.models import Federation
from coterie.federations.services import create_federation
from coterie.fleet.models import Device
from coterie.merging.models import Merge
from coterie.registry.models import BASE, Alias, ModelPair, ModelVersion, Role
from coterie.rounds.models import Assignment, Round
from tests.coterie.downloads import downloaded
from tests.coterie.world import START, make_device, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db


def make_round(
    federation: Federation, number: int, *, minutes: float, accuracy: float | None, state: str = "published"
) -> Round:
    """A round that opened an hour after the one before; published, it made a version of the pair, as its champion."""
    opened_at = START + timedelta(hours=number)
    ended_at = opened_at + timedelta(minutes=minutes)
    metrics = {} if accuracy is None else {"accuracy": accuracy}
    before = federation.pair.versions.order_by("-number").first()
    published = state == "published"
    version = make_version(federation.pair, seed=number) if published else None
    if version is not None:
        ModelVersion.objects.filter(pk=version.pk).update(metrics=metrics, parent=before)
    merge = Merge.objects.create(
        federation=federation,
        number=number,
        state="published" if published else "abandoned",
        reason_at=ended_at,
        plan=federation.plan,
        seed=0,
        base_version=before,
        result_version=version,
        metrics=metrics,
        asked_at=opened_at,
        finished_at=ended_at,
    )
    return Round.objects.create(
        federation=federation,
        number=number,
        state=state,
        opens_at=opened_at,
        opened_at=opened_at,
        deadline_at=ended_at,
        finished_at=ended_at,
        plan=federation.plan,
        seed=0,
        base_version=before,
        merge=merge,
    )


def plan_round(federation: Federation, number: int) -> Round:
    return Round.objects.create(federation=federation, number=number, opens_at=START, seed=0)


@pytest.fixture
def federation() -> Federation:
    pair = make_pair()
    make_version(pair)
    return make_federation(pair)


@pytest.fixture
def rows(api: APIClient) -> Callable[..., list[dict[str, object]]]:
    def of(path: str, **query: str) -> list[dict[str, object]]:
        answer = api.get(f"/api/{path}/", query)
        assert answer.status_code == 200, answer.content
        found: list[dict[str, object]] = answer.json()["results"]
        return found

    return of


def champion(pair: ModelPair) -> ModelVersion:
    return Alias.objects.get(pair=pair, role=Role.DEVICE, lineage=BASE).version


def hold(device: Device, version: ModelVersion | None) -> None:
    Device.objects.filter(pk=device.pk).update(held_version="" if version is None else str(version.pk))


def test_a_federation_shows_its_champion_its_rounds_and_who_holds_what(federation: Federation, rows) -> None:
    oldest = champion(federation.pair)
    make_round(federation, 1, minutes=10, accuracy=0.6)
    make_round(federation, 2, minutes=20, accuracy=None)
    make_round(federation, 3, minutes=20, accuracy=0.7)
    last = make_round(federation, 4, minutes=5, accuracy=0.5, state="abandoned")
    following = plan_round(federation, 5)
    now = champion(federation.pair)
    for number, held in enumerate((now, now, oldest, None)):
        hold(make_device(f"device-{number}"), held)
    Device.objects.create(name="gone", state="left", credential_hash="x", enrolled_at=START, held_version=str(now.pk))
    (found,) = rows("federation-figures")
    assert found["champion"] == {"version": str(now.pk), "number": now.number, "accuracy": 0.7}
    assert found["accuracies"] == [0.6, 0.7]
    assert (found["last_round"]["id"], found["next_round"]["id"]) == (last.pk, following.pk)
    assert (found["on_champion"], found["on_others"], found["on_none"]) == (2, 1, 1)
    assert rows("federations")[0]["members"] == 4


def test_a_federation_counts_only_devices_with_its_tag(rows) -> None:
    pair = make_pair()
    for tag in ("hall", "kitchen"):
        create_federation(name=tag, pair=pair, plan={}, device_tag=tag, now=START)
    make_device("one", tags=("hall",))
    make_device("two", tags=("hall", "kitchen"))
    make_device("three", tags=("hallway",))
    assert {row["name"]: row["members"] for row in rows("federations")} == {"hall": 2, "kitchen": 1}
    counted = {row["federation"]: row["on_none"] for row in rows("federation-figures")}
    assert sorted(counted.values()) == [1, 2]


def test_a_federation_without_anything_shows_nothing(rows) -> None:
    create_federation(name="new", pair=make_pair(), plan={}, now=START)
    (found,) = rows("federation-figures")
    assert (found["champion"], found["accuracies"], found["last_round"], found["next_round"]) == (None, [], None, None)


def test_figures_come_for_the_rows_that_the_list_shows(federation: Federation, rows) -> None:
    draft = create_federation(name="another", pair=federation.pair, plan={}, now=START)
    asked = {"state": "draft", "sort": "-name"}
    assert [row["id"] for row in rows("federations", **asked)] == [str(draft.pk)]
    assert [row["federation"] for row in rows("federation-figures", **asked)] == [str(draft.pk)]


def test_a_round_is_compared_with_the_one_that_was_published_before(federation: Federation, rows) -> None:
    make_round(federation, 1, minutes=10, accuracy=0.6)
    make_round(federation, 2, minutes=50, accuracy=0.1, state="abandoned")
    make_round(federation, 3, minutes=8, accuracy=0.75)
    plan_round(federation, 4)
    found = {row["number"]: row for row in rows("rounds")}
    assert {number: row["duration_s"] for number, row in found.items()} == {1: 600, 2: 3000, 3: 480, 4: None}
    assert found[3]["change"] == {"round": 1, "duration_s": -120, "accuracy": pytest.approx(0.15)}
    assert [found[number]["change"] for number in (1, 2, 4)] == [None, None, None]
    assert rows("rounds", state="published")[0]["change"]["round"] == 1


def test_rounds_of_other_federations_are_not_compared(federation: Federation, rows) -> None:
    other = create_federation(name="other", pair=federation.pair, plan={}, now=START)
    make_round(other, 1, minutes=1, accuracy=0.1)
    make_round(federation, 2, minutes=1, accuracy=0.1)
    assert [row["change"] for row in rows("rounds")] == [None, None]


def test_a_versions_change_is_against_what_it_was_made_from(federation: Federation, rows) -> None:
    make_round(federation, 1, minutes=1, accuracy=0.6)
    make_round(federation, 2, minutes=1, accuracy=0.55)
    hold(make_device("one"), champion(federation.pair))
    found = rows("version-figures", sort="number")
    assert [row["accuracy"] for row in found] == [None, 0.6, 0.55]
    assert [row["accuracy_change"] for row in found] == [None, None, pytest.approx(-0.05)]
    assert [row["devices"] for row in found] == [0, 0, 1]
    (pair,) = rows("pair-figures")
    assert (pair["accuracies"], pair["versions"], pair["devices"]) == ([0.6, 0.55], 3, 1)


def test_a_device_shows_how_far_behind_it_is(federation: Federation, rows) -> None:
    oldest = champion(federation.pair)
    round_ = make_round(federation, 1, minutes=1, accuracy=0.6)
    behind, current, unknown = (make_device(name) for name in ("behind", "current", "unknown"))
    hold(behind, oldest)
    hold(current, champion(federation.pair))
    Device.objects.filter(pk=unknown.pk).update(held_version=str(uuid4()))
    odd = make_device("odd")
    Device.objects.filter(pk=odd.pk).update(held_version="no id")
    part = Assignment.objects.create(
        round=round_, device=behind, base_version=oldest, seed=0, offered_at=START, changed_at=START, state="released"
    )
    found = {row["device"]: row for row in rows("device-figures")}
    shown = found[str(behind.pk)]
    assert (shown["version"]["number"], shown["versions_behind"]) == (oldest.number, 1)
    assert (shown["last_part"]["round"], shown["last_part"]["state"]) == (part.round_id, "released")
    assert found[str(current.pk)]["versions_behind"] == 0
    assert [found[str(one.pk)]["version"] for one in (unknown, odd)] == [None, None]


@pytest.mark.parametrize(
    "path", ["federations", "federation-figures", "pair-figures", "version-figures", "device-figures", "rounds"]
)
def test_a_page_takes_as_many_queries_as_one_row(path: str, api: APIClient) -> None:
    taken = []
    for several in (range(1), range(1, 6)):
        for number in several:
            pair = make_pair(f"pair-{number}")
            first = make_version(pair)
            federation = create_federation(name=f"of {number}", pair=pair, plan={}, now=START)
            device = make_device(f"device-{number}")
            round_ = make_round(federation, 1, minutes=1, accuracy=0.5)
            make_round(federation, 2, minutes=1, accuracy=0.5)
            hold(device, first)
            Assignment.objects.create(
                round=round_, device=device, base_version=first, seed=0, offered_at=START, changed_at=START
            )
        with CaptureQueriesContext(connection) as queries:
            assert len(api.get(f"/api/{path}/").json()["results"]) >= len(several)
        taken.append(len(queries))
        Assignment.objects.update(state="released")
    assert taken[0] == taken[1]


def test_a_list_as_a_table_takes_as_many_queries_however_many_rows(api: APIClient) -> None:
    taken = []
    for name in ("one", "two", "three"):
        create_federation(name=name, pair=make_pair(name), plan={}, now=START)
        with CaptureQueriesContext(connection) as queries:
            lines = downloaded(api.get("/api/federations/", {"format": "csv"})).decode().splitlines()
        taken.append(len(queries))
    assert len(lines) == 4
    assert len(set(taken)) == 1
