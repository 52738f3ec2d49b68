"""Plans that are tried before they meet the fleet: a job in a real child, and the rounds that then happen."""

import io
import uuid
from functools import cache

import msgspec
import numpy as np
import pytest
import torch
from django.utils import timezone
from rest_framework.test import APIClient
from torch import nn

from coterie.accounts.projects import create_organisation, create_project, give_role
from coterie.accounts.services import create_operator
from coterie.child.job import Progress
from coterie.cloud.simulation_job import LEFT_S, SAVED, ExpectedRound, Range, SimulationResult
from coterie.cloud_training.leasing import record_found, record_progress, succeed
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.running import run_job
from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.program import export_module
from coterie.core.acting import OperatorRole
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.registry.models import Dataset, ModelPair
from coterie.simulation.fleet.profile import shipped_profiles
from coterie.simulation.scenario import shipped_scenarios
from coterie.twin import shipped
from coterie_wire.structs import from_values
from coterie_wire.tensors import encode_tensors
from tests.coterie.cloud_training.taking import begin_job, place
from tests.coterie.twin.test_twin import ROUNDS, at, federation_of, hold, lived
from tests.coterie.world import MODEL, ScriptedDevice, keep, make_dataset

# Committed for real: the heartbeat extends leases from a thread of its own.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("compile")]


@cache
def compiled() -> CompiledModel:
    """A softmax regression, as the fleet's pair says that it is."""
    return compile_model(export_module(nn.Linear(4, 3), (torch.zeros(2, 4),)), batch_size=MODEL.batch_size)


def make_real(pair: ModelPair) -> Dataset:
    """Give the pair graphs that run, and samples: a class is where the greatest of three numbers is."""
    model, rng = compiled(), np.random.default_rng(0)
    pair.train_step, pair.predict = keep(model.train_step), keep(model.predict)
    pair.initial_parameters, pair.spec = keep(encode_tensors(model.parameters)), msgspec.to_builtins(model.spec)
    pair.save()
    x = rng.normal(size=(300, 4)).astype(np.float32)
    file = io.BytesIO()
    np.savez(file, x=x, y=x[:, :3].argmax(axis=1))
    dataset = make_dataset()
    dataset.blob = keep(file.getvalue())
    dataset.save()
    return dataset


def fleet_again() -> list[ScriptedDevice]:
    return [ScriptedDevice(device) for device in Device.objects.order_by("enrolled_at", "name")]


def stayed() -> Federation:
    """A fleet that held rounds two hours ago, and was there since."""
    federation = lived()
    for seconds in range(480, 7200, 120):
        for device in fleet_again():
            device.say(at(seconds))
    return federation


def run(federation: Federation) -> TrainingJob:
    job = federation.simulations.get(state="queued")
    placed = place(job.pk, timezone.now())
    assert placed is not None
    run_job(job_id=job.pk, placement=placed.placement, clock=timezone.now)
    job.refresh_from_db()
    return job


def test_what_is_shipped_is_what_the_simulation_has() -> None:
    assert (tuple(shipped_profiles()), tuple(shipped_scenarios())) == (shipped.PROFILES, shipped.SCENARIOS)


@pytest.mark.long
def test_a_plan_is_tried_on_the_fleets_own_past_and_compared_with_what_then_happens(api: APIClient) -> None:
    federation = stayed()
    dataset = make_real(federation.pair)
    path = f"/api/federations/{federation.pk}/plan-forecasts/"
    assert api.post(path, {}).json()["code"] == "twin.no_samples"
    answer = api.post(path, {"dataset": str(dataset.pk), "rounds": 4, "split": "iid"})
    assert answer.status_code == 201, answer.json()
    asked = answer.json()
    assert (asked["profile"], asked["profile_reason"], asked["expected"]) == (None, "", None)
    assert api.post(path, {"dataset": str(dataset.pk)}).json()["code"] == "cloud_training.already_simulated"
    job = run(federation)
    assert (job.state, job.reason_sentence, job.left_s) == ("succeeded", "", None)
    found = from_values(job.found, SimulationResult)
    assert found.durations == "replayed"
    assert found.duration_s.middle == pytest.approx(4.0, abs=0.1), "what its rounds have always taken"
    assert len(found.rounds) == 4
    assert found.accuracy.low <= found.accuracy.middle <= found.accuracy.high
    told = api.get(path).json()["forecasts"][0]
    assert told["happened"] == [], "what was before is no outcome"
    hold(federation, fleet_again(), ROUNDS + 1)
    told = api.get(path).json()
    assert [one["number"] for one in told["forecasts"][0]["happened"]] == [ROUNDS + 1]
    assert {one["figure"]: one["rounds"] for one in told["calibration"]} == {
        "accuracy": 0,
        "duration_s": 1,
        "lost": 1,
        "up_bytes": 1,
    }


def test_without_a_past_a_shipped_fleet_takes_its_place_and_that_is_said(api: APIClient) -> None:
    federation = federation_of()
    make_real(federation.pair)
    path = f"/api/federations/{federation.pk}/plan-forecasts/"
    told = api.post(path, {"scenario": "digits-alike", "rounds": 2}).json()
    assert told["profile"] == shipped.SUBSTITUTE
    assert "needs 20" in told["profile_reason"]
    assert told["devices"] == 5, "what a round wants"
    job = run(federation)
    assert (job.state, job.reason_code) == ("failed", "simulation.cannot_simulate")
    assert "the model takes" in job.reason_sentence and "[1, 8, 8]" in job.reason_sentence
    again = api.post(f"/api/jobs/{job.pk}/retry/").json()
    assert (again["federation"], again["options"]) == (str(federation.pk), job.options)
    assert api.post(f"/api/jobs/{again['id']}/cancel/", {"why": "x" * 201}).status_code == 400
    cancelled = api.post(f"/api/jobs/{again['id']}/cancel/", {"why": "the wrong samples"}).json()
    assert (cancelled["state"], cancelled["error_code"]) == ("cancelled", "cloud_training.cancelled")
    assert cancelled["error_sentence"].endswith(" cancelled it: the wrong samples")
    assert [one["job"]["state"] for one in api.get(path).json()["forecasts"]] == ["cancelled", "failed"]
    told = api.post(path, {"plan": {"pace": {"kind": "buffered"}}, "scenario": "digits-alike"})
    assert (told.status_code, told.json()["plan"]["pace"]["kind"]) == (201, "buffered")


def test_a_plan_without_rounds_is_tried_while_samples_come_and_refused_where_they_do_not(api: APIClient) -> None:
    """With what every simulation of a fleet says of it."""
    federation = federation_of()
    dataset = make_real(federation.pair)
    path = f"/api/federations/{federation.pk}/plan-forecasts/"
    asked = {
        "plan": {"pace": {"kind": "alone"}},
        "dataset": str(dataset.pk),
        "split": "iid",
        "devices": 4,
        "days": 1,
        "profile": "kiosks",
    }
    assert api.post(path, {**asked, "drift": "by:time"}).status_code == 400
    told = api.post(path, {**asked, "drift": "steady"}).json()
    assert (told["drift"], told["cloud_version"], told["days"]) == ("steady", None, 1)
    job = run(federation)
    assert (job.state, job.reason_sentence) == ("succeeded", "")
    expected = api.get(path).json()["forecasts"][0]["expected"]
    assert (expected["rounds"], expected["duration_s"], expected["merged_share"]) == ([], None, None)
    assert expected["moments"][-1]["ends_s"] == 86_400
    assert 0 < expected["accuracy"]["middle"] <= 1 and "while samples come" in job.progress_sentence
    api.post(path, asked)
    refused = run(federation)
    assert refused.state == "failed" and "with a drift (--drift steady" in refused.reason_sentence


def test_a_simulation_leaves_the_pair_to_others_and_counts_what_it_saved(api: APIClient) -> None:
    federation = federation_of()
    dataset = make_real(federation.pair)
    api.post(f"/api/federations/{federation.pk}/plan-forecasts/", {"dataset": str(dataset.pk), "profile": "kiosks"})
    assert api.post(f"/api/pairs/{federation.pair.pk}/bootstrap/", {"dataset": str(dataset.pk)}).status_code == 201
    job, lease, now = federation.simulations.get(), uuid.uuid4(), timezone.now()
    assert begin_job(job.pk, lease, now) is not None
    told = {LEFT_S: 90.0, SAVED: 1.0}
    record_progress(job.pk, lease, Progress("simulated rounds", 3, 9, told), now)
    job.refresh_from_db()
    assert (job.progress_sentence, job.left_s, job.advanced_in) == ("simulated rounds 3 of 9", 90.0, 1)


FOUND = SimulationResult(
    rounds=tuple(
        ExpectedRound(number, 9, 60.0 * number, Range(share - 0.1, share, share + 0.1))
        for number, share in enumerate((0.6, 0.7, 0.8), start=1)
    ),
    duration_s=Range(50.0, 60.0, 70.0),
    lost=Range(0.0, 1.0, 2.0),
    up_bytes=Range(100.0, 200.0, 300.0),
    merged_share=1.0,
    accuracy=Range(0.7, 0.8, 0.9),
    begins_with=0.5,
    bytes_per_device=Range(4000.0, 5000.0, 6000.0),
    joules_per_device=Range(1.0, 2.0, 3.0),
    participants=Range(4.0, 5.0, 5.0),
    simulated_s=180.0,
    devices=5,
    samples=240,
    held_out=60,
    draws=9,
    durations="simulated",
    executor_reason="",
    device_accuracy_median=Range(0.72, 0.82, 0.92),
    device_accuracy_worst_decile=Range(0.4, 0.5, 0.6),
)


def test_plans_that_were_tried_are_listed_with_a_few_figures_of_what_was_found(api: APIClient) -> None:
    federation = federation_of()
    dataset = make_real(federation.pair)
    api.post(f"/api/federations/{federation.pk}/plan-forecasts/", {"dataset": str(dataset.pk), "profile": "kiosks"})
    lease = uuid.uuid4()
    job = begin_job(federation.simulations.get().pk, lease, timezone.now())
    assert job is not None
    record_found(job.pk, lease, FOUND)
    assert succeed(job, lease, timezone.now())
    (row,) = api.get("/api/plan-forecasts/", {"state": "succeeded", "search": federation.name}).json()["results"]
    assert (row["federation_name"], row["dataset_name"]) == (federation.name, dataset.name)
    assert (row["accuracy"], row["accuracies"], row["bytes_per_device"]) == (0.8, [0.6, 0.7, 0.8], 5000.0)
    assert (row["device_accuracy_median"], row["device_accuracy_worst_decile"]) == (0.82, 0.5)
    assert row["joules_per_device"] == 2.0
    assert (row["asked_by"], row["rounds"], row["profile"], row["scenario"]) == ("ada", 20, "kiosks", None)
    assert "found" not in row
    told = api.get(f"/api/plan-forecasts/{job.pk}/").json()
    assert told["expected"]["accuracy"]["middle"] == 0.8
    assert told["expected"]["device_accuracy_worst_decile"] == {"low": 0.4, "middle": 0.5, "high": 0.6}
    assert api.get("/api/plan-forecasts/", {"active": True}).json()["count"] == 0
    api.post(f"/api/pairs/{federation.pair.pk}/bootstrap/", {"dataset": str(dataset.pk)})
    other = TrainingJob.objects.get(kind="bootstrap")
    assert api.get(f"/api/plan-forecasts/{other.pk}/").status_code == 404
    assert api.get("/api/plan-forecasts/").json()["count"] == 1


def test_who_acts_in_another_project_sees_no_plan_that_was_tried(api: APIClient) -> None:
    federation = federation_of()
    job = TrainingJob.objects.create(
        kind="simulation",
        pair=federation.pair,
        federation=federation,
        options={"devices": 3},
        created_at=timezone.now(),
    )
    now = timezone.now()
    theirs = create_project(organisation=create_organisation(name="Other", now=now), name="other", now=now)
    eve = create_operator(username="eve", role=None).operator
    give_role(operator=eve, role=OperatorRole.ADMINISTRATOR, to=theirs, now=now)
    intruder = APIClient()
    intruder.force_login(eve)
    assert intruder.get("/api/plan-forecasts/").json()["count"] == 0
    assert intruder.get(f"/api/plan-forecasts/{job.pk}/").status_code == 404
    assert api.get("/api/plan-forecasts/").json()["count"] == 1
