"""Commands against a platform's REST API: what they list, show and do, and how they fail."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from coterie.accounts.services import create_operator, issue_token
from coterie.cli import login
from coterie.cli.command import coterie
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.services import place_jobs
from coterie.cluster.services import register_host
from coterie.device_logs.models import DeviceLog, DeviceLogLine
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.fleet_evaluation.models import Evaluation
from coterie.simulation_runs.models import SimulatedFleet, SimulationRun
from tests.coterie.analytics.answering import agreeing
from tests.coterie.rollouts.world import another_version
from tests.coterie.twin import test_twin
from tests.coterie.world import (
    START,
    fleet_of,
    keep,
    make_dataset,
    make_device,
    make_federation,
    make_pair,
    make_version,
)

pytestmark = pytest.mark.django_db


def answer(request: httpx.Request) -> httpx.Response:
    """What the platform of this process answers."""
    answered = Client(headers={"Authorization": request.headers["Authorization"]}).generic(
        request.method, request.url.raw_path.decode(), request.content, request.headers.get("Content-Type", "")
    )
    return httpx.Response(answered.status_code, content=answered.content)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Runs `coterie` with arguments, against a platform in this process."""
    monkeypatch.setattr(login, "FILE", tmp_path / "coterie" / "login.json")
    transport = httpx.MockTransport(answer)

    def invoke(*arguments: str, given: str | None = None) -> Result:
        return CliRunner().invoke(coterie, arguments, input=given, obj=transport)

    return invoke


@pytest.fixture
def signed_in(run: Callable[..., Result]) -> Callable[..., Result]:
    operator = create_operator(username="ada").operator
    token = issue_token(operator=operator, name="shell", expires_at=None, now=timezone.now())
    result = run("login", "http://localhost/", "--token-stdin", given=f"{token.secret}\n")
    assert result.output == "You are ada (administrator) at http://localhost.\n"
    return run


@pytest.fixture
def federation() -> Federation:
    pair = make_pair()
    make_version(pair)
    return make_federation(pair, target_updates=1, min_updates=1, over_selection=1.0)


def test_a_login_is_kept_for_its_person_alone_and_can_be_forgotten(signed_in: Callable[..., Result]) -> None:
    assert login.FILE.stat().st_mode & 0o777 == 0o600
    signed_in("logout")
    assert "[cli.not_logged_in]" in signed_in("overview").output


def test_a_wrong_token_is_not_kept(run: Callable[..., Result]) -> None:
    result = run("login", "http://localhost", "--token-stdin", given="wrong\n")
    assert (result.exit_code, "[accounts.token_invalid]" in result.output) == (1, True)
    assert not login.FILE.exists()


def test_lists_devices_for_programs_by_tabs_and_by_json(signed_in: Callable[..., Result]) -> None:
    fleet_of(2)
    lines = signed_in("devices", "list", "--sort", "name").output.splitlines()
    assert lines[0].split("\t") == ["name", "status", "last_seen_at", "tags", "id"]
    names = sorted(Device.objects.values_list("name", flat=True))
    assert [line.split("\t")[0] for line in lines[1:]] == names
    assert [row["name"] for row in json.loads(signed_in("devices", "list", "--json").output)["results"]] == names
    assert signed_in("devices", "list", "--search", "nothing like it").output.splitlines() == lines[:1]


def test_a_thing_is_shown_by_name_or_by_id_and_told_apart(signed_in: Callable[..., Result]) -> None:
    fleet_of(2)
    device = Device.objects.first()
    assert device is not None
    by_name, by_id = (signed_in("devices", "show", which).output for which in (device.name, str(device.pk)))
    assert by_name == by_id and f"id: {device.pk}" in by_name
    assert "[cli.not_one]" in signed_in("devices", "show", "nobody").output


def test_federations_are_paused_and_started(signed_in: Callable[..., Result], federation: Federation) -> None:
    assert signed_in("federations", "pause", federation.slug).exit_code == 0
    federation.refresh_from_db()
    assert federation.state == "paused"
    assert json.loads(signed_in("federations", "start", federation.slug, "--json").output)["state"] == "running"


def test_a_device_tells_why_it_waits(signed_in: Callable[..., Result], federation: Federation) -> None:
    fleet_of(1)
    told = signed_in("devices", "why", str(Device.objects.get().pk))
    assert told.exit_code == 0 and told.output


def test_a_device_is_asked_for_its_log_whose_lines_are_searched(signed_in: Callable[..., Result]) -> None:
    device = make_device("kitchen")
    Device.objects.filter(pk=device.pk).update(capabilities={"logs": {}})
    asked = json.loads(signed_in("devices", "ask-log", "kitchen", "--hours", "3", "--why", "it waits", "--json").output)
    assert (asked["hours"], asked["why"], asked["state"]) == (3, "it waits", "asked")
    log = DeviceLog.objects.get()
    DeviceLogLine.objects.bulk_create(
        DeviceLogLine(log=log, at=START, level="error", source="worker", text=f"line {number}") for number in range(601)
    )
    assert len(signed_in("logs", "lines", str(log.pk)).output.splitlines()) == 601
    found = signed_in("logs", "lines", str(log.pk), "--search", "line 7", "--level", "error")
    assert found.output.splitlines()[0] == "2026-01-01T12:00:00Z error   worker: line 7"
    assert json.loads(signed_in("logs", "lines", str(log.pk), "--level", "info", "--json").output) == []
    assert json.loads(signed_in("logs", "cancel", str(log.pk), "--json").output)["state"] == "cancelled"
    assert "[device_logs.has_ended]" in signed_in("logs", "cancel", str(log.pk)).output


def test_a_version_is_rolled_out_through_phases(signed_in: Callable[..., Result], federation: Federation) -> None:
    candidate = another_version(make_version(federation.pair), "candidate")
    terms = '{"share": 0.01, "phases": [{"share": 0.1}, {"share": 0.5, "hold_s": 60, "threshold": 0.01}]}'
    started = json.loads(
        signed_in("rollouts", "start", "--version", str(candidate.pk), "--terms", terms, "--json").output
    )
    assert (started["state"], started["phase"], started["phases"]) == ("planned", 0, 3)
    own = {"share": 0.5, "threshold": 0.01, "within_s": None, "hold_s": 60, "absent_s": None}
    assert started["terms"]["phases"][1] == own
    assert (
        "[plan.invalid]"
        in signed_in(
            "rollouts", "start", "--version", str(candidate.pk), "--terms", '{"phases": [{"share": 2}]}'
        ).output
    )
    assert "[rollouts.not_begun]" in signed_in("rollouts", "pass-phase", started["id"]).output
    stopped = json.loads(signed_in("rollouts", "cancel", started["id"], "--why", "it was a try", "--json").output)
    assert (stopped["state"], stopped["reason_sentence"]) == ("cancelled", "an operator stopped it: it was a try")


def test_devices_are_rolled_back(signed_in: Callable[..., Result], federation: Federation) -> None:
    first = make_version(federation.pair)
    second = another_version(first, "second")
    pair = str(federation.pair_id)
    json.loads(signed_in("models", "use-version", pair, "--version", str(second.pk), "--json").output)
    back = json.loads(signed_in("models", "use-version", pair, "--why", "it drains batteries", "--json").output)
    assert back["id"] == str(first.pk)


def test_overview_and_repairs_are_told_in_sentences(signed_in: Callable[..., Result]) -> None:
    assert signed_in("overview").output == "no devices yet\n"
    assert signed_in("repairs").exit_code == 0


def test_any_request_can_be_made(signed_in: Callable[..., Result]) -> None:
    assert json.loads(signed_in("api", "get", "/api/presets/").output)
    refused = signed_in("api", "POST", "federations/", "--data", "{}")
    assert (refused.exit_code, refused.output.startswith("Error: ")) == (1, True)


def test_what_is_no_platform_is_told_so(run: Callable[..., Result], tmp_path: Path) -> None:
    elsewhere = httpx.MockTransport(lambda _request: httpx.Response(404, text="<h1>Not here</h1>"))
    result = CliRunner().invoke(coterie, ["login", "http://localhost", "--token-stdin"], input="x\n", obj=elsewhere)
    assert "[cli.not_a_platform]" in result.output


def test_an_action_takes_fields_as_json_or_as_text(signed_in: Callable[..., Result]) -> None:
    pair, dataset = make_pair(), make_dataset()
    strategy = '{"kind": "parameter_server", "workers": 3}'
    fields = ("--dataset", str(dataset.pk), "--strategy", strategy, "--epochs", "7")
    result = signed_in("models", "bootstrap", pair.slug, *fields)
    assert result.exit_code == 0, result.output
    options = TrainingJob.objects.get().options
    assert options["epochs"] == 7
    assert options["strategy"]["kind"] == "parameter_server"
    assert options["strategy"]["workers"] == 3
    refused = signed_in(
        "models", "bootstrap", pair.slug, "--dataset", str(dataset.pk), "--strategy", '{"kind": "ring"}'
    )
    assert "strategy.invalid" in refused.output
    job = str(TrainingJob.objects.get().pk)
    curve = signed_in("jobs", "curve", job, "--json")
    assert json.loads(curve.output) == []
    cancelled = signed_in("jobs", "cancel", job, "--why", "the wrong samples", "--json")
    assert json.loads(cancelled.output)["error_sentence"].endswith(" cancelled it: the wrong samples")


def test_the_cluster_tells_who_is_there_and_what_jobs_wait_for(
    signed_in: Callable[..., Result], settings: Settings
) -> None:
    assert "start a Celery worker" in signed_in("cluster").output
    settings.CLUSTER_QUOTAS = {"vision": 2}
    for slug, team in (("first", "vision"), ("second", "speech")):
        options = ("--strategy", '{"kind": "data_parallel"}', "--team", team, "--priority", "1")
        asked = signed_in("models", "bootstrap", make_pair(slug).slug, "--dataset", str(make_dataset().pk), *options)
        assert asked.exit_code == 0, asked.output
    now = timezone.now()
    register_host(name="a", rack="r1", address="a", places=3, cores=3, gpus=0, memory_bytes=1 << 30, now=now)
    place_jobs(now=now)
    lines = signed_in("cluster").output.splitlines()
    assert lines[1].split("\t") == ["a", "r1", "true", "2", "3", "0", "here", "train.a"]
    assert "bootstrap of first\tvision\t1\t2\tplaced\t2 on a" in lines
    assert "bootstrap of second\tspeech\t1\t2\twaiting\twaits for 2 workers on one host; 1 free on a" in lines
    used = json.loads(signed_in("cluster", "--json").output)["use"]
    assert {use["team"]: (use["quota"], use["places"]) for use in used} == {"vision": (2, 2), "speech": (None, 0)}


def test_a_version_is_evaluated_by_devices(signed_in: Callable[..., Result], federation: Federation) -> None:
    version = federation.pair.versions.get()
    asked = signed_in("versions", "evaluate", str(version.pk), "--devices", "3", "--reports", "2", "--within-s", "60")
    assert asked.exit_code == 0, asked.output
    evaluation = Evaluation.objects.get()
    assert (evaluation.version, evaluation.devices_wanted, evaluation.within_s) == (version, 3, 60)
    assert str(evaluation.pk) in signed_in("evaluations", "list", "--version", str(version.pk)).output
    assert signed_in("evaluations", "cancel", str(evaluation.pk)).exit_code == 0
    shown = json.loads(signed_in("evaluations", "show", str(evaluation.pk), "--json").output)
    assert (shown["state"], shown["figures"], shown["parts"]) == ("cancelled", None, [])


def test_a_thing_is_renamed_and_put_away(signed_in: Callable[..., Result], federation: Federation) -> None:
    assert "[cli.nothing_to_change]" in signed_in("federations", "change", federation.slug).output
    signed_in("federations", "change", federation.slug, "--name", "Kiosks", "--notes", "since May")
    federation.refresh_from_db()
    assert (federation.name, federation.notes) == ("Kiosks", "since May")
    signed_in("federations", "finish", federation.slug)
    signed_in("federations", "archive", federation.slug)
    assert "Kiosks" not in signed_in("federations", "list").output
    assert "Kiosks" in signed_in("federations", "list", "--archived", "true").output


def test_makes_tries_changes_and_removes_alerts(signed_in: Callable[..., Result]) -> None:
    url = "https://8.8.8.8/x"
    made = signed_in("alert-channels", "create", "--name", "on call", "--kind", "webhook", "--url", url, "--json")
    channel = json.loads(made.output)
    assert channel["secret"].startswith("whsec_")
    signed_in("alert-channels", "change", "on call", "--quiet-from", "22:00", "--quiet-until", "07:00")
    signed_in("alert-channels", "change", "on call", "--time-zone", "Europe/Berlin")
    signed_in("alert-channels", "test", "on call")
    of = ("--kind", "online_below", "--threshold", "0.5", "--channels", f"[{channel['id']}]")
    assert signed_in("alert-rules", "create", "--name", "fleet", *of).exit_code == 0
    assert "[alerts.channel_in_use]" in signed_in("alert-channels", "remove", "on call").output
    assert signed_in("alert-rules", "change", "fleet", "--threshold", "0.25", "--is-active", "false").exit_code == 0
    shown = json.loads(signed_in("alert-rules", "show", "fleet", "--json").output)
    assert (shown["threshold"], shown["is_active"]) == (0.25, False)
    assert json.loads(signed_in("alerts", "list", "--json").output)["results"][0]["change"] == "test"
    assert signed_in("alert-rules", "remove", "fleet").output == "done\n"
    assert signed_in("alert-channels", "remove", "on call").output == "done\n"


def test_a_fleet_is_asked_and_the_question_cancelled(signed_in: Callable[..., Result], federation: Federation) -> None:
    agreeing(3)
    content = json.dumps({"count": {"kind": "classes", "classes": 3}, "min_devices": 3, "corrupted": 0.0})
    given = ("--federation", str(federation.pk), "--content", content, "--epsilon", "null", "--devices", "3")
    asked = json.loads(signed_in("analytics", "ask", *given, "--title", "classes", "--json").output)
    assert (asked["state"], asked["cells"]) == ("open", ["0", "1", "2"])
    assert "classes" in signed_in("analytics", "list", "--state", "open").output
    cancelled = json.loads(signed_in("analytics", "cancel", asked["id"], "--json").output)
    assert cancelled["state"] == "cancelled"
    refused = signed_in("analytics", "ask", *given[:-1], "2501")
    assert refused.exit_code != 0
    assert "rest.invalid" in refused.output


def test_a_fleets_past_is_replayed_exported_and_its_forecasts_are_shown(
    signed_in: Callable[..., Result], tmp_path: Path
) -> None:
    slug = test_twin.lived().slug
    replayed = json.loads(signed_in("twin", slug, "--rounds", "5", "--json").output)
    assert (replayed["happened"]["merged"], replayed["replayed"]["rounds"]) == (5, 5)
    assert signed_in("twin", slug, "--rounds", "5").output.startswith("5 devices, the last 7 days\n")
    fleet = tmp_path / "fleet.json"
    assert signed_in("twin", slug, "--export", str(fleet)).exit_code == 0
    assert json.loads(fleet.read_text())["devices"] == 5
    assert "duration_s" in signed_in("twin", slug, "--forecasts").output
    wrong = tmp_path / "plan.toml"
    wrong.write_text("local = ")
    assert signed_in("twin", slug, "--plan", str(wrong)).exit_code == 1


def test_a_project_is_made_and_a_role_in_it_given_and_taken(signed_in: Callable[..., Result]) -> None:
    create_operator(username="bob", role=None)
    organisation = json.loads(signed_in("organisations", "create", "--name", "Hospital", "--json").output)
    asked = ("--organisation", str(organisation["id"]), "--name", "Wards", "--json")
    project = json.loads(signed_in("projects", "create", *asked).output)
    given = ("--username", "bob", "--role", "viewer", "--project", str(project["id"]), "--json")
    role = json.loads(signed_in("roles", "give", *given).output)
    assert "bob" in signed_in("roles", "list", "--project", str(project["id"])).output
    signed_in("roles", "remove", str(role["id"]))
    assert "bob" not in signed_in("roles", "list").output
    role_of_ours = ("--name", "caretaker", "--actions", '["fleet.pause_device"]', "--json")
    made = signed_in("custom-roles", "create", "--organisation", str(organisation["id"]), *role_of_ours)
    custom = str(json.loads(made.output)["id"])
    changed = signed_in("custom-roles", "change", "caretaker", "--actions", '["fleet.resume_device"]', "--json")
    assert json.loads(changed.output)["actions"] == ["fleet.resume_device"]
    signed_in("roles", "give", "--username", "bob", "--custom-role", custom, "--project", str(project["id"]))
    assert "caretaker" in signed_in("roles", "list").output
    of_group = ("--claim-value", "ward-staff", "--custom-role", custom, "--project", str(project["id"]), "--json")
    mapped = json.loads(signed_in("sign-on-roles", "give", *of_group).output)
    assert "ward-staff" in signed_in("sign-on-roles", "list").output
    signed_in("sign-on-roles", "remove", str(mapped["id"]))
    assert "ward-staff" not in signed_in("sign-on-roles", "list").output


def test_lists_what_was_simulated_and_shows_what_a_run_found(signed_in: Callable[..., Result]) -> None:
    now = timezone.now()
    fleet = SimulatedFleet.objects.create(file=keep(b"fleet"), pair_name="gait.pt2", created_at=now, used_at=now)
    wanted = {"plan": {}, "seed": 0, "rounds": 4, "evaluate_every": 1}
    found = {"state": "succeeded", "progress": 1.0, "outcome": '{"accuracy": 0.75}', "accuracy": 0.75}
    run = SimulationRun.objects.create(fleet=fleet, key="k", wanted=wanted, created_at=now, hinted_at=now, **found)
    (row,) = json.loads(signed_in("simulations", "list", "--fleet", str(fleet.pk), "--json").output)["results"]
    assert (row["id"], row["pair_name"], row["accuracy"]) == (str(run.pk), "gait.pt2", 0.75)
    assert json.loads(signed_in("simulations", "show", str(run.pk), "--json").output)["outcome"] == found["outcome"]
    assert "0.75" in signed_in("simulations", "list").output
    waits = SimulationRun.objects.create(fleet=fleet, key="l", wanted=wanted, created_at=now, hinted_at=now)
    told = signed_in("simulations", "cancel", str(waits.pk), "--why", "not needed", "--json").output
    assert json.loads(told)["reason_sentence"].endswith("cancelled it: not needed")
    assert "simulation_runs.run_has_ended" in signed_in("simulations", "cancel", str(run.pk)).output
    assert json.loads(signed_in("tried-plans", "list", "--json").output)["results"] == []
