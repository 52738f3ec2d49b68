"""A plan is judged as it is typed, and compared with the one that runs, and nothing is written."""

import numpy as np
import pytest
from rest_framework.test import APIClient

from coterie.audit.models import Entry
from coterie.federations.models import Federation
from coterie.registry.models import ModelPair
from coterie.rounds.models import Round
from coterie_learning.codec.float32 import Float32Codec
from coterie_wire.tensors import encoded_bytes
from tests.coterie.world import (
    fleet_of,
    keep,
    later,
    make_dataset,
    make_device,
    make_federation,
    make_pair,
    make_version,
)

pytestmark = pytest.mark.django_db


def test_every_slot_is_judged(api: APIClient) -> None:
    plan = {
        "local": {"kind": "sgd", "learning_rate": -1},
        "codec": {"kind": "zip"},
        "pace": {"kind": "sync", "target_updates": 5},
        "spice": {"kind": "hot"},
    }
    told = api.post("/api/plan-check/", {"plan": plan}).json()
    assert told["plan"] is None
    problems = {(line["slot"], line["field"], line["code"]) for line in told["problems"]}
    assert ("local", "learning_rate", "plan.invalid") in problems
    assert ("codec", "", "plan.unknown_kind") in problems
    assert len(problems) == 3, problems


def test_a_good_plan_is_written_out(api: APIClient) -> None:
    told = api.post("/api/plan-check/", {"plan": {"local": {"kind": "prox"}}}).json()
    assert told["problems"] == []
    assert told["plan"]["local"]["mu"] > 0
    assert told["plan"]["pace"]["kind"] == "sync"


def test_what_a_preset_asks_of_a_small_fleet_is_told_beforehand(api: APIClient) -> None:
    for number in range(6):
        make_device(f"device-{number}", tags=("kiosk",))
    make_device("elsewhere")
    colla = api.get("/api/presets/").json()["colla"]
    assert api.post("/api/plan-check/", {"plan": colla, "device_tag": "kiosk"}).json()["notes"] == [
        "It cannot hold a round yet: one needs 10 devices (pace), and 6 devices are there.",
        "Between two rounds it pauses for 20 days (pace).",
    ]
    for number in range(6, 10):
        make_device(f"device-{number}", tags=("kiosk",))
    small = {**colla, "pace": {**colla["pace"], "pause_s": 60}}
    assert api.post("/api/plan-check/", {"plan": small, "device_tag": "kiosk"}).json()["notes"] == []


def test_a_plan_that_teaches_the_cloud_model_asks_for_its_data(api: APIClient) -> None:
    pair, dataset = make_pair(), make_dataset()
    ModelPair.objects.update(teacher_predict=keep(b"teacher"), teacher_parameters=pair.spec["parameters"])
    body = {"plan": api.get("/api/presets/").json()["colla"], "pair": str(pair.pk)}
    (problem,) = api.post("/api/plan-check/", body).json()["problems"]
    assert (problem["slot"], problem["code"]) == ("merge", "plan.needs_cloud_data")
    told = api.post("/api/plan-check/", {**body, "cloud_data": str(dataset.pk)}).json()
    assert told["problems"] == []
    federation = {**body, "cloud_data": str(dataset.pk), "name": "Digits"}
    assert api.post("/api/federations/", federation).status_code == 201


def test_what_a_plan_makes_devices_send_is_told_beforehand(api: APIClient) -> None:
    pair = make_pair()
    pace = {"kind": "sync", "target_updates": 5, "deadline_s": 3600, "pause_s": 82_800}

    def traffic(codec: object, **extra: object) -> dict[str, float]:
        plan = {"codec": codec, "pace": pace, **extra}
        return api.post("/api/plan-check/", {"plan": plan, "pair": str(pair.pk)}).json()["traffic"]

    plain = traffic({"kind": "float32"})
    model = pair.model_spec()
    update = {spec.name: np.zeros(spec.shape, np.float32) for spec in model.parameters}
    assert plain["update_bytes"] == len(Float32Codec().encode(update, seed=0).payload)
    assert plain["least_update_bytes"] == plain["update_bytes"] == plain["most_update_bytes"]
    assert plain["version_bytes"] == encoded_bytes(model.version)
    assert plain["round_up_bytes"] == 5 * plain["update_bytes"]
    assert plain["rounds_a_month"] == 30
    assert plain["month_down_bytes"] == 30 * 5 * plain["version_bytes"]
    coarse = traffic({"kind": "sparse_levels"})
    assert coarse["least_update_bytes"] < coarse["update_bytes"] < coarse["most_update_bytes"]
    assert plain["difference_bytes"] == plain["version_bytes"]
    assert traffic({"kind": "int8"}, pace={"kind": "alone"}) is None
    assert api.post("/api/plan-check/", {"plan": {}}).json()["traffic"] is None


def test_a_change_is_told_with_what_it_does(api: APIClient) -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, target_updates=2, min_updates=2)
    stored = Federation.objects.get().plan
    entries = Entry.objects.count()

    def preview(plan: object) -> dict[str, list[object]]:
        return api.post(f"/api/federations/{federation.pk}/plan-preview/", {"plan": plan}).json()

    assert preview(stored)["effects"] == ["Nothing changes."]
    change = {**stored, "pace": {**stored["pace"], "target_updates": 4, "min_updates": 3}, "local": {"kind": "prox"}}
    told = preview(change)
    changed = {(line["slot"], line["field"]): (line["before"], line["after"]) for line in told["changes"]}
    assert changed["pace", "target_updates"] == (2, 4)
    assert changed["local", "kind"] == ("sgd", "prox")
    assert "which has not opened yet" in str(told["effects"][0])
    assert "Devices train otherwise: sgd becomes prox." in told["effects"]
    assert "A round needs 3 devices to open; 0 could be asked now." in told["effects"]
    for device in fleet_of(2):
        device.check_in(later(0))
    assert Round.objects.get().state == "open"
    assert (
        preview(change)["effects"][0] == "Round 1 is open and keeps its plan; the change holds from the next round on."
    )
    assert preview({"pace": {"kind": "sync", "min_updates": 0}})["changes"] == []
    assert (Federation.objects.get().plan, Entry.objects.count()) == (stored, entries)


def test_a_plan_that_the_pair_cannot_follow_is_told(api: APIClient) -> None:
    federation = make_federation(make_pair())
    plan = {"merge": {"kind": "distill"}}
    told = api.post(f"/api/federations/{federation.pk}/plan-preview/", {"plan": plan}).json()
    (problem,) = told["problems"]
    assert (problem["slot"], problem["code"], told["effects"]) == ("merge", "plan.needs_cloud_data", [])


def test_what_a_promise_to_repeat_merges_keeps_is_told_in_bytes(api: APIClient) -> None:
    pace = {"kind": "sync", "target_updates": 10, "deadline_s": 3600, "pause_s": 0}
    plan = {"pace": pace, "codec": {"kind": "float32"}, "forgetting": {"kind": "replay", "days": 30}}
    told = api.post("/api/plan-check/", {"plan": plan, "pair": str(make_pair().pk)}).json()
    traffic = told["traffic"]
    kept = 720 * (traffic["round_up_bytes"] + traffic["version_bytes"])
    assert told["notes"][-1] == (
        f"The platform keeps the updates and versions of 30 days (forgetting): {kept / 1e6:.3g} MB for 720 rounds of "
        "10 updates, if each lasts until its deadline."
    )
    restart = {**plan, "forgetting": {"kind": "restart"}}
    assert "forgetting" not in "".join(api.post("/api/plan-check/", {"plan": restart}).json()["notes"])
