"""Runs in the operators' REST API: lists with a few figures, and all of one."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from coterie.accounts.models import Operator
from coterie.accounts.projects import create_organisation, create_project, give_role
from coterie.accounts.services import create_operator, issue_token
from coterie.audit.models import Entry
from coterie.core.acting import OperatorRole, Scope
from coterie.simulation_runs.models import SimulatedFleet, SimulationRun
from tests.coterie.world import START, keep

pytestmark = pytest.mark.django_db
RUNS = "/api/simulation-runs/"


def fleet(name: str = "gait.pt2") -> SimulatedFleet:
    return SimulatedFleet.objects.create(
        file=keep(name.encode()), pair_name=name, data_name="people.npz", devices=9, created_at=START, used_at=START
    )


def run_of(fleet: SimulatedFleet, number: int = 0, **columns: Any) -> SimulationRun:
    at = START + timedelta(minutes=number)
    wanted = {"plan": {"local": {"kind": "sgd"}}, "seed": number, "rounds": 4, "evaluate_every": 1}
    given = {"key": str(number), "wanted": wanted, "asked_by": "ada", "created_at": at, "hinted_at": at, **columns}
    return SimulationRun.objects.create(fleet=fleet, **given)


def done(fleet: SimulatedFleet, number: int, accuracy: float) -> SimulationRun:
    devices = {"device_accuracy_median": 0.8, "device_accuracy_worst_decile": 0.3, "joules_per_device": 16.0 * accuracy}
    found = {
        "outcome": "{}",
        "accuracy": accuracy,
        "accuracies": [0.1, accuracy],
        "bytes_per_device": 1000.0,
        **devices,
    }
    return run_of(fleet, number, state="succeeded", progress=1.0, **found)


def test_a_row_has_what_people_look_for_and_no_outcome(api: APIClient) -> None:
    run = done(fleet(), 0, 0.75)
    with CaptureQueriesContext(connection) as asked:
        row = api.get(RUNS).json()["results"][0]
    assert "outcome" not in row
    assert not any('"outcome"' in query["sql"] for query in asked), "large texts stay in the database"
    shown = {"pair_name": "gait.pt2", "data_name": "people.npz", "devices": 9, "asked_by": "ada"}
    assert {name: row[name] for name in shown} == shown
    assert (row["accuracy"], row["accuracies"], row["bytes_per_device"]) == (0.75, [0.1, 0.75], 1000.0)
    assert (row["device_accuracy_median"], row["device_accuracy_worst_decile"]) == (0.8, 0.3)
    assert (row["joules_per_device"], row["wanted"]["rounds"]) == (12.0, 4)
    assert api.get(f"{RUNS}{run.pk}/").json()["outcome"] == "{}"


def test_as_many_queries_for_many_rows_as_for_one(api: APIClient) -> None:
    whole = fleet()
    run_of(whole)
    with CaptureQueriesContext(connection) as one:
        api.get(RUNS)
    for number in range(1, 20):
        run_of(whole, number)
    with CaptureQueriesContext(connection) as many:
        assert api.get(RUNS).json()["count"] == 20
    assert len(many) == len(one)


def test_rows_are_filtered_searched_sorted_and_paged(api: APIClient) -> None:
    gait, keys = fleet(), fleet("keys.pt2")
    for number, accuracy in enumerate((0.5, 0.9, 0.7)):
        done(gait, number, accuracy)
    run_of(keys)
    run_of(keys, 1, state="failed", reason_code="simulation.cannot_run", reason_sentence="it diverged")

    def accuracies(**query: object) -> list[float | None]:
        return [row["accuracy"] for row in api.get(RUNS, query).json()["results"]]

    assert accuracies(sort="-accuracy", state="succeeded") == [0.9, 0.7, 0.5]
    assert accuracies(sort="-accuracy", state="succeeded", page_size=1, page=2) == [0.7]
    assert accuracies(fleet=str(keys.pk)) == [None, None]
    assert accuracies(active=True) == [None]
    assert len(accuracies(active=False)) == 4
    assert accuracies(search="diverged") == [None]
    assert len(accuracies(search="gait ada")) == 3
    assert accuracies(sort="-joules_per_device", state="succeeded") == [0.9, 0.7, 0.5]
    assert api.get(RUNS, {"sort": "outcome"}).status_code == 400
    assert api.get(RUNS, {"state": "lost"}).status_code == 400


def test_a_run_is_cancelled_with_a_reason_once(api: APIClient) -> None:
    waits, path = run_of(fleet()), "{}{}/cancel/"
    told = api.post(path.format(RUNS, waits.pk), {"why": "the samples are wrong"})
    assert (told.status_code, told.json()["state"], told.json()["progress"]) == (200, "cancelled", 0.0)
    assert told.json()["reason_sentence"] == "ada cancelled it: the samples are wrong"
    (entry,) = Entry.objects.filter(action="simulation_runs.cancel_run")
    assert (entry.subject_id, entry.before["state"], entry.after["state"]) == (str(waits.pk), "queued", "cancelled")
    again = api.post(path.format(RUNS, waits.pk))
    assert (again.status_code, again.json()["code"]) == (409, "simulation_runs.run_has_ended")
    assert api.post(path.format(RUNS, waits.pk), {"why": "x" * 201}).status_code == 400
    assert api.get(RUNS, {"state": "cancelled"}).json()["count"] == 1
    assert api.get(RUNS, {"active": True}).json()["count"] == 0


def test_a_token_needs_the_scope_to_read(api: APIClient) -> None:
    run = done(fleet(), 0, 0.5)
    narrow, reading = (
        issue_token(operator=Operator.objects.get(), name=scope, scopes=[scope], now=START).secret
        for scope in (Scope.FLEET, Scope.READ)
    )
    for path in (RUNS, f"{RUNS}{run.pk}/"):
        for secret, status in ((narrow, 403), (reading, 200)):
            assert APIClient(headers={"Authorization": f"Bearer {secret}"}).get(path).status_code == status


def test_who_acts_in_another_project_sees_none(api: APIClient) -> None:
    run = done(fleet(), 0, 0.5)
    theirs = create_project(organisation=create_organisation(name="Other", now=START), name="other", now=START)
    eve = create_operator(username="eve", role=None).operator
    give_role(operator=eve, role=OperatorRole.ADMINISTRATOR, to=theirs, now=START)
    intruder = APIClient()
    intruder.force_login(eve)
    assert intruder.get(RUNS).json()["count"] == 0
    assert intruder.get(RUNS, {"fleet": str(run.fleet_id)}).json()["count"] == 0
    assert intruder.get(f"{RUNS}{run.pk}/").status_code == 404
    assert intruder.post(f"{RUNS}{run.pk}/cancel/").status_code == 404
    assert api.get(RUNS).json()["count"] == 1
