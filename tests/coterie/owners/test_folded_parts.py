"""Once merged parts are folded into their updates, owners, rounds and versions are told the same as before."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator
from coterie.core.pruning import count_old, prune
from coterie.merging.models import Update
from coterie.owners import sweeping
from coterie.owners.exporting import export_of
from coterie.owners.receipts import receipts_of
from coterie.owners.selectors import forgetting_of, news_of
from coterie.owners.services import forget_device
from coterie.owners.sweeping import holding
from coterie.rounds import histories
from coterie.rounds.models import Assignment, Round
from coterie.rounds.tidying import tidy
from tests.coterie.rounds.test_carried_assignments import advance, assignments, asynchronous
from tests.coterie.world import START, ScriptedDevice, fleet_of, later, make_pair, make_version

pytestmark = pytest.mark.django_db
A_MONTH, A_YEAR = START + timedelta(days=30), START + timedelta(days=400)
FOLDED = "parts in rounds that were merged"
OF_PROGRESS = ("steps_done", "steps_total")
"""Of a part, what its device said on the way; that of a folded one is what it said with its update."""


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedDevice]:
    """Three, of which the last was asked by the first round and is in the second, which has ended, too."""
    monkeypatch.setattr(histories, "LOOKBACK_ROUNDS", 0)
    pair = make_pair()
    make_version(pair)
    federation = asynchronous(pair, buffer=2, at_work=3)
    devices = fleet_of(3)
    first = assignments(devices, 1)
    for place in (0, 1):
        devices[place].deliver(first[place], later(2), seed=place)
    advance(federation, 3)
    again = assignments(devices[:1], 4)
    devices[2].deliver(first[2], later(5), seed=2)
    devices[0].deliver(again[0], later(5), seed=3)
    advance(federation, 6)
    assert [round_.state for round_ in Round.objects.order_by("number")][:2] == ["published", "published"]
    tidy(now=A_MONTH)
    return devices


def told(devices: list[ScriptedDevice]) -> list[object]:
    """What owners may ask for, and which versions hold each."""
    exports = [export_of(device.row, now=later(9)).sections["updates"] for device in devices]
    return [
        [(receipts_of(device.row), holding(device.row)) for device in devices],
        [[{**row, "offered_at": None} for row in rows] for rows in map(decoded, exports)],
    ]


def decoded(rows: Any) -> list[dict[str, object]]:
    return [msgspec.json.decode(bytes(row)) for row in rows]


def shown(client: APIClient) -> Mapping[int, tuple[int, list[object]]]:
    """By number of a round, how many it asked, and the parts whose updates it took."""
    found = {}
    for round_ in Round.objects.filter(state="published"):
        page = client.get(f"/api/rounds/{round_.pk}/").json()
        taken = [part for part in page["assignments"] if part["taken_by"] == round_.pk]
        parts = [{name: value for name, value in part.items() if name not in OF_PROGRESS} for part in taken]
        found[round_.number] = (page["devices"], sorted(parts, key=lambda part: part["id"]))
    return found


@pytest.fixture
def client() -> APIClient:
    client = APIClient()
    client.force_login(create_operator(username="anna").operator)
    return client


def folded() -> int:
    return {one.name: one.rows for one in prune(now=A_YEAR)}[FOLDED]


def test_owners_rounds_and_versions_are_told_the_same(devices: list[ScriptedDevice], client: APIClient) -> None:
    before = told(devices), shown(client)
    assert sum(len(parts) for _, parts in before[1].values()) == 4
    assert folded() == 4
    assert not Assignment.objects.filter(update__isnull=False).exists()
    assert (told(devices), shown(client)) == before
    assert folded() == 0


def test_when_its_device_was_asked_stands_in_the_update(devices: list[ScriptedDevice]) -> None:
    asked = dict(Assignment.objects.filter(update__isnull=False).values_list("pk", "offered_at"))
    assert dict(Update.objects.values_list("pk", "offered_at")) == dict.fromkeys(asked)
    folded()
    assert dict(Update.objects.values_list("pk", "offered_at")) == asked


def test_a_device_whose_parts_are_folded_can_still_be_forgotten(devices: list[ScriptedDevice]) -> None:
    held = holding(devices[2].row)
    assert len(held) == 1
    folded()
    forgetting = forget_device(device=devices[2].row, now=A_YEAR)
    sweeping.sweep(now=A_YEAR)
    news = news_of(forgetting_of(forgetting.pk))
    assert news.done
    assert list(news.holds) == held
    assert news.removed["updates"] == 1
    assert not Update.objects.filter(device=devices[2].row).exists()


def test_parts_of_the_latest_rounds_stay_whatever_their_age(
    devices: list[ScriptedDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histories, "LOOKBACK_ROUNDS", 1)
    asked_by_the_first = Round.objects.get(number=1).assignments.filter(update__isnull=False).count()
    assert asked_by_the_first == 3
    assert {one.name: one.rows for one in count_old(now=A_YEAR)}[FOLDED] == asked_by_the_first


def test_parts_stay_while_files_of_their_rounds_are_kept(devices: list[ScriptedDevice]) -> None:
    Round.objects.filter(number=2).update(tidied_at=None)  # which took one that the first had asked for
    asked_and_taken_by_the_first = 2
    assert folded() == asked_and_taken_by_the_first


def test_parts_that_learned_from_the_cloud_model_stay(devices: list[ScriptedDevice]) -> None:
    version = Round.objects.get(number=1).base_version
    Assignment.objects.filter(device=devices[2].row).update(teacher=version)
    assert folded() == 3
    assert Assignment.objects.filter(update__isnull=False).get().teacher == version
