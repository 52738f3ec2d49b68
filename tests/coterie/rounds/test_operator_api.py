"""The REST API of registry, federations, rounds and jobs, as an operator sees it."""

import io
import json

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from rest_framework.test import APIClient

from coterie.registry.models import ModelPair
from coterie.registry.services import reject_pair
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Round
from coterie_wire.conditions import Reason
from tests.coterie.world import fleet_of, later, make_federation, make_pair, make_version, merge_round

pytestmark = pytest.mark.django_db


def npz(**arrays: np.ndarray) -> SimpleUploadedFile:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return SimpleUploadedFile("data.npz", file.getvalue())


def problem_of(response) -> tuple[int, str]:
    assert response["Content-Type"] == "application/problem+json"
    return response.status_code, response.json()["code"]


@pytest.mark.parametrize(
    "path", ["pairs", "versions", "datasets", "federations", "rounds", "jobs", "plan-schema", "recipe-schema"]
)
def test_strangers_see_nothing(path: str) -> None:
    assert problem_of(Client().get(f"/api/{path}/")) == (401, "rest.unauthenticated")


def test_a_federation_from_creation_to_its_first_round(api: APIClient) -> None:
    pair = make_pair()
    make_version(pair)
    made = api.post(
        "/api/federations/",
        {"name": "Digits", "pair": str(pair.pk), "plan": {"pace": {"kind": "sync", "target_updates": 1}}},
        format="json",
    )
    assert made.status_code == 201, made.content
    federation = made.json()
    assert (federation["state"], federation["slug"], federation["members"]) == ("draft", "digits", 0)
    assert api.post(f"/api/federations/{federation['id']}/start/").json()["state"] == "running"

    (device,) = fleet_of(1)
    device.deliver(device.check_in(later(0)).assignment.assignment, later(1), seed=1)
    sweep(now=later(2))
    merge_round(Round.objects.get(), clock=lambda: later(3))

    (row,) = api.get("/api/rounds/", {"federation": federation["id"], "state": "published"}).json()["results"]
    assert (row["number"], row["devices"], row["updates"]) == (1, 1, 1)
    detail = api.get(f"/api/rounds/{row['id']}/").json()
    (part,) = detail["assignments"]
    assert (part["device_name"], part["state"], part["delivered"]["samples"]) == ("device-0", "delivered", 20)

    versions = api.get("/api/versions/", {"pair": str(pair.pk), "role": "device"}).json()["results"]
    assert [(version["number"], version["champion"]) for version in versions] == [(2, True), (1, False)]
    lineage = api.get(f"/api/versions/{versions[0]['id']}/lineage/").json()
    assert [version["number"] for version in lineage] == [2, 1]
    back = api.post(f"/api/pairs/{pair.pk}/champion/", {"role": "device"}, format="json")
    assert (back.json()["number"], back.json()["champion"]) == (1, True)
    assert api.get(f"/api/pairs/{pair.pk}/").json()["device_champion"] == versions[1]["id"]


def test_an_unfinished_assignment_has_delivered_nothing(api: APIClient) -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair)
    (device,) = fleet_of(1)
    device.check_in(later(0))
    (part,) = api.get(f"/api/rounds/{Round.objects.get().pk}/").json()["assignments"]
    assert part["delivered"] is None


def test_a_plan_that_does_not_fit_is_refused_with_its_code(api: APIClient) -> None:
    wanted = {"name": "Digits", "pair": str(make_pair().pk), "plan": {"pace": {"kind": "async"}}}
    assert problem_of(api.post("/api/federations/", wanted, format="json")) == (422, "plan.unknown_kind")


def test_plans_are_described(api: APIClient) -> None:
    assert "sync" in api.get("/api/plan-schema/").json()["pace"]
    names = api.get("/api/presets/").json().keys()
    assert {"fedavg", "fedprox"} <= names
    notes = api.get("/api/preset-notes/").json()
    assert notes.keys() == names
    assert all("Loses" in " ".join(lines) for lines in notes.values())


def test_recipes_are_described(api: APIClient) -> None:
    described = api.get("/api/recipe-schema/").json()
    assert described.keys() == {"loss", "optimiser", "trains", "clipping", "distillation"}
    assert "cross_entropy" in described["loss"]
    rank = described["trains"]["adapters"]["$defs"]["Adapters"]["properties"]["rank"]
    assert (rank["minimum"], rank["default"]) == (1, 8)
    assert described["clipping"] == {
        "type": "boolean",
        "default": False,
        "description": "whether a plan may clip gradients by their norm",
    }


def test_a_pair_tells_why_it_was_rejected(api: APIClient) -> None:
    pair = make_pair()
    ModelPair.objects.update(state="checking")
    reason = Reason("compile.unsupported_operator", "Operator aten.nonzero.default cannot be compiled.")
    reject_pair(
        pair=pair, reason=reason, fields={"operator": "aten.nonzero.default", "module": "encoder.0"}, now=later(0)
    )
    told = api.get(f"/api/pairs/{pair.pk}/").json()
    assert (told["state"], told["reason_code"]) == ("rejected", reason.code)
    assert told["reason_fields"] == {"operator": "aten.nonzero.default", "module": "encoder.0"}


def test_a_data_set_is_uploaded(api: APIClient) -> None:
    file = npz(x=np.zeros((6, 4), np.float32), y=np.arange(6) % 3)
    made = api.post("/api/datasets/", {"name": "data", "file": file}, format="multipart")
    assert made.status_code == 201, made.content
    assert (made.json()["rows"], made.json()["classes"]) == (6, 3)


def test_a_broken_data_set_is_refused_with_its_code(api: APIClient) -> None:
    file = SimpleUploadedFile("data.npz", b"PK no zip")
    answer = api.post("/api/datasets/", {"name": "data", "file": file}, format="multipart")
    assert problem_of(answer) == (422, "registry.bad_dataset")


def test_a_pair_is_submitted_with_a_loss_of_its_own(api: APIClient) -> None:
    programs = {name: SimpleUploadedFile(f"{name}.pt2", name.encode()) for name in ("device", "cloud", "loss")}
    form = {"name": "Own", "recipe": json.dumps({"loss": {"kind": "custom"}}), **programs}
    made = api.post("/api/pairs/", form, format="multipart")
    assert made.status_code == 201, made.content
    assert made.json()["recipe"]["loss"] == {"kind": "custom", "task": "values", "whole_batches": False}
    without = {"name": "Without", "recipe": form["recipe"], "device": programs["device"], "cloud": programs["cloud"]}
    for file in programs.values():
        file.seek(0)
    assert problem_of(api.post("/api/pairs/", without, format="multipart")) == (422, "registry.loss_program")


def test_a_pair_is_submitted_trained_and_its_job_cancelled(api: APIClient) -> None:
    programs = {name: SimpleUploadedFile(f"{name}.pt2", b"program") for name in ("device", "cloud")}
    made = api.post("/api/pairs/", {"name": "Small", "labels": ["a", "b"], **programs}, format="multipart")
    assert made.status_code == 201, made.content
    assert made.json()["state"] == "checking"

    pair = make_pair()
    file = npz(x=np.zeros((6, 4), np.float32), y=np.arange(6) % 3)
    dataset = api.post("/api/datasets/", {"name": "data", "file": file}, format="multipart").json()["id"]
    job = api.post(f"/api/pairs/{pair.pk}/bootstrap/", {"dataset": dataset, "epochs": 3}, format="json").json()
    assert (job["kind"], job["state"], job["options"]["epochs"]) == ("bootstrap", "queued", 3)
    again = api.post(f"/api/pairs/{pair.pk}/bootstrap/", {"dataset": dataset}, format="json")
    assert problem_of(again) == (409, "cloud_training.pair_busy")
    assert api.post(f"/api/jobs/{job['id']}/cancel/").json()["state"] == "cancelled"
    assert api.post(f"/api/jobs/{job['id']}/retry/").json()["state"] == "queued"
    assert len(api.get("/api/jobs/", {"pair": str(pair.pk), "state": "queued"}).json()["results"]) == 1


@pytest.mark.parametrize(
    "path", ["pairs/nonsense/", "rounds/99/", "versions/00000000-0000-0000-0000-000000000000/", "jobs/nonsense/"]
)
def test_what_is_not_there_is_not_found(api: APIClient, path: str) -> None:
    assert problem_of(api.get(f"/api/{path}"))[0] == 404


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("rounds", {"state": "dancing"}),
        ("rounds", {"federation": "x"}),
        ("versions", {"role": "x"}),
        ("jobs", {"pair": "x"}),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(api: APIClient, path: str, query: dict[str, str]) -> None:
    assert problem_of(api.get(f"/api/{path}/", query)) == (400, "rest.invalid")
