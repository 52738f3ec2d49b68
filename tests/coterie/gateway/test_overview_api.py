"""The overview tells what is, by how devices stand and why, and what was."""

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Round
from tests.coterie.world import (
    ON_BATTERY,
    fleet_of,
    in_this_process,
    make_dataset,
    make_federation,
    make_pair,
    make_version,
    merge_round,
)

pytestmark = pytest.mark.django_db


def test_an_empty_platform_says_so(api: APIClient) -> None:
    told = api.get("/api/overview/").json()
    assert (told["devices"], told["sentence"], told["rounds"], told["traffic"]) == (0, "no devices yet", [], [])


def test_tells_devices_by_how_they_stand_and_rounds_by_how_they_went(api: APIClient) -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=1, min_updates=1, over_selection=1.0)
    ready, on_battery, _never_seen = fleet_of(3)
    on_battery.check_in(timezone.now(), blockers=(ON_BATTERY,))
    assigned = ready.check_in(timezone.now()).assignment
    assert assigned is not None
    told = api.get("/api/overview/").json()
    assert (told["devices"], told["active_rounds"][0]["state"]) == (3, "open")
    stand = {(line["status"], line["reason"], line["words"]): line["devices"] for line in told["by_status"]}
    assert stand == {
        ("ready", "", "ready"): 1,
        ("waiting", "conditions.on_battery", "on battery"): 1,
        ("never_seen", "", "never seen"): 1,
    }
    assert sorted(told["sentence"].split(", ")) == ["1 never seen", "1 on battery", "1 ready"]
    ready.deliver(assigned.assignment, timezone.now(), seed=1)
    sweep(now=timezone.now())
    merge_round(Round.objects.get(state="merging"), clock=timezone.now, merger=in_this_process)
    told = api.get("/api/overview/").json()
    (point,), (day,) = told["rounds"], told["traffic"]
    assert (point["federation_slug"], point["federation_name"]) == ("digits", "digits")
    assert (point["number"], point["updates"], point["mean_accuracy"]) == (1, 1, 0.5)
    assert point["update_bytes"] == day["update_bytes"] > 0
    assert [one["rounds"] for one in told["published"]] == [1]


def test_who_is_renamed_has_the_new_name_wherever_people_read_it(api: APIClient) -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, target_updates=1, min_updates=1, over_selection=1.0)
    (device,) = fleet_of(1)
    assert device.check_in(timezone.now()).assignment is not None
    api.patch(f"/api/federations/{federation.pk}/", {"name": "Kitchen digits"})
    api.patch(f"/api/pairs/{pair.pk}/", {"name": "Two layers"})
    bootstrap_pair(pair=pair, dataset=make_dataset(), options=TrainingOptions(), now=timezone.now())
    told = api.get("/api/overview/").json()
    assert [round_["federation_name"] for round_ in told["active_rounds"]] == ["Kitchen digits"]
    assert [job["pair_name"] for job in told["active_jobs"]] == ["Two layers"]
    (part,) = api.get("/api/assignments/").json()["results"]
    assert (part["federation_slug"], part["federation_name"]) == ("digits", "Kitchen digits")
    for path in ("rounds/?search=kitchen", "jobs/?search=layers"):
        assert api.get(f"/api/{path}").json()["count"] == 1, path


def test_the_platform_tells_what_it_is(api: APIClient) -> None:
    assert api.get("/api/platform/").json()["mode"] == "embedded"
