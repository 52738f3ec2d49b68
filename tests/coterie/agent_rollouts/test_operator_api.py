"""Roll-outs of the agent as programs and the console see them."""

from pathlib import Path

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from coterie.agent_rollouts.models import AgentRollout
from coterie_wire.conditions import Reason
from tests.coterie.agent_rollouts.world import (
    CRASHED,
    advance,
    asked,
    device,
    published_in,
    report,
    repository,
    start,
)

pytestmark = pytest.mark.django_db
OFF = {"refuses": {"code": "updates.off", "sentence": "no"}}


@pytest.fixture(autouse=True)
def releases(settings: Settings, tmp_path: Path) -> None:
    published_in(repository(tmp_path).root, settings)


def test_agents_are_counted_by_release_the_newest_first(api: APIClient) -> None:
    for name, agent, updates, tags in (
        ("a", "0.2.0", {}, ()),
        ("b", "0.2.0", OFF, ("lab",)),
        ("c", "0.10.0", {}, ("lab",)),
        ("d", "of its own", None, ()),
    ):
        device(name, agent=agent, updates=updates, tags=tags)
    off = {"code": "updates.off", "sentence": "their owners want no updates", "devices": 1}
    unknown = {"code": "updates.unknown", "sentence": "their agents are older than updates", "devices": 1}
    assert api.get("/api/agent-versions/").json() == [
        {"version": "0.10.0", "devices": 1, "taking": 1, "refusing": []},
        {"version": "0.2.0", "devices": 2, "taking": 1, "refusing": [off]},
        {"version": "of its own", "devices": 1, "taking": 0, "refusing": [unknown]},
    ]
    of_lab = api.get("/api/agent-versions/", {"tag": "lab"}).json()
    assert [(row["version"], row["devices"]) for row in of_lab] == [("0.10.0", 1), ("0.2.0", 1)]
    assert _names(api, agent="0.2.0") == ["a", "b"]
    assert _names(api, refuses_updates="updates.off") == ["b"]


def _names(api: APIClient, **query: str) -> list[str]:
    return [row["name"] for row in api.get("/api/devices/", query).json()["results"]]


def test_releases_are_told_with_what_has_expired(api: APIClient, settings: Settings, tmp_path: Path) -> None:
    told = api.get("/api/agent-releases/").json()
    assert (told["served"], told["releases"]) == (True, [{"version": "9.0.0", "size_bytes": 7}])
    assert {expiry["role"]: expiry["expired"] for expiry in told["expiries"]} == {
        "root": False,
        "targets": False,
        "snapshot": False,
        "timestamp": False,
    }
    published_in(tmp_path / "nothing", settings)
    assert api.get("/api/agent-releases/").json() == {"served": False, "releases": [], "expiries": []}


def test_every_devices_part_is_listed_and_why_others_have_none(api: APIClient) -> None:
    first, second = device("first"), device("second")
    device("off", updates=OFF)
    rollout = advance(start(phases=[1.0], most_failures=0.5))
    assert {row.pk for row in asked(rollout)} == {first.pk, second.pk}
    report(rollout, first, "installed", seconds=1)
    report(rollout, second, "rolled_back", CRASHED, seconds=2)
    parts = api.get("/api/agent-updates/", {"rollout": str(rollout.pk)}).json()["results"]
    assert [(part["device_name"], part["state"], part["reason_sentence"]) for part in parts] == [
        ("second", "failed", CRASHED.sentence),
        ("first", "installed", ""),
    ]
    assert {(part["version"], part["former"]) for part in parts} == {("9.0.0", "0.2.0")}
    failed = api.get("/api/agent-updates/", {"rollout": str(rollout.pk), "state": "failed"}).json()
    assert failed["count"] == 1
    shown = api.get(f"/api/agent-rollouts/{advance(rollout, 3).pk}/").json()
    assert shown["left_out"] == [{"code": "updates.off", "sentence": "their owners want no updates", "devices": 1}]


@pytest.mark.parametrize(
    ("path", "state", "sentence"),
    [
        ("pause", "paused", "an operator paused it: a fair is on"),
        ("stop", "stopped", "an operator stopped it; devices that have it keep it: a fair is on"),
        ("roll-back", "rolled_back", "an operator has devices go back to the agent before: a fair is on"),
    ],
)
def test_an_operators_reason_stands_in_the_roll_outs(api: APIClient, path: str, state: str, sentence: str) -> None:
    rollout = start()
    answer = api.post(f"/api/agent-rollouts/{rollout.pk}/{path}/", {"why": "a fair is on"}).json()
    assert (answer["state"], answer["reason_sentence"]) == (state, sentence)
    assert AgentRollout.objects.get().reason() == Reason(answer["reason_code"], sentence)
