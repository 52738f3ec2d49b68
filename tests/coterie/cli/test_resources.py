"""Commands against a platform's REST API: what they list, show and do, and how they fail."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result
from django.test import Client
from django.utils import timezone

from coterie.accounts.services import create_operator, issue_token
from coterie.cli import login
from coterie.cli.command import coterie
from coterie.cloud_training.models import TrainingJob
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from tests.coterie.world import fleet_of, make_dataset, make_federation, make_pair, make_version

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
    curve = signed_in("jobs", "curve", str(TrainingJob.objects.get().pk), "--json")
    assert json.loads(curve.output) == []


def test_a_thing_is_renamed_and_put_away(signed_in: Callable[..., Result], federation: Federation) -> None:
    assert "[cli.nothing_to_change]" in signed_in("federations", "change", federation.slug).output
    signed_in("federations", "change", federation.slug, "--name", "Kiosks", "--notes", "since May")
    federation.refresh_from_db()
    assert (federation.name, federation.notes) == ("Kiosks", "since May")
    signed_in("federations", "finish", federation.slug)
    signed_in("federations", "archive", federation.slug)
    assert "Kiosks" not in signed_in("federations", "list").output
    assert "Kiosks" in signed_in("federations", "list", "--archived", "true").output
