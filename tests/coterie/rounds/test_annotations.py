"""What happened to a federation beside its rounds, as marks and sentences for its charts."""

import pytest
from rest_framework.test import APIClient

from coterie.federations.keeping_back import KEPT_BACK
from coterie.federations.models import Federation
from coterie.rollouts.services import cancel_rollout
from tests.coterie.rollouts.world import World
from tests.coterie.transfer.peers import Member, make_peers
from tests.coterie.world import START, later

pytestmark = pytest.mark.django_db


def annotations(api: APIClient, federation: Federation) -> list[dict[str, str]]:
    """All but that the test's own world started it."""
    answer = api.get(f"/api/federations/{federation.pk}/annotations/")
    assert answer.status_code == 200, answer.content
    rows: list[dict[str, str]] = answer.json()
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    return [row for row in rows if not row["sentence"].startswith("the platform")]


def test_says_who_changed_what_of_the_plan(api: APIClient) -> None:
    federation = World().federation
    address = f"/api/federations/{federation.pk}/"
    plan = api.get(address).json()["plan"]
    changed = {**plan, "pace": {**plan["pace"], "deadline_s": 77}}
    before = plan["pace"]["deadline_s"]
    assert api.patch(address, {"plan": changed}, format="json").status_code == 200
    api.patch(address, {"tolerance": 0.1}, format="json")
    api.post(f"{address}pause/")
    api.post(f"{address}start/")
    found = annotations(api, federation)
    assert [row["kind"] for row in found] == ["plan", "terms", "paused", "started"]
    assert found[0]["sentence"] == f"ada changed its plan: pace deadline {before:g} s → 77 s."
    assert (found[2]["mark"], found[2]["sentence"]) == ("paused", "ada paused it.")


def test_tells_of_versions_that_were_tried_and_moved(api: APIClient) -> None:
    world = World()
    rollout = world.start()
    cancel_rollout(rollout=rollout, now=later(5))
    body = {"role": "device", "lineage": "", "version": str(world.candidate.pk)}
    assert api.post(f"/api/pairs/{world.pair.pk}/champion/", body, format="json").status_code == 200
    back = {**body, "version": str(world.champion.pk), "why": "it drains batteries."}
    api.post(f"/api/pairs/{world.pair.pk}/champion/", back, format="json")
    number = world.candidate.number
    told = {row["mark"]: row["sentence"] for row in annotations(api, world.federation)}
    assert told[f"{number} tried"] == f"A canary group was given version {number}."
    assert told[f"{number} stopped"] == f"Version {number} was stopped: an operator stopped it."
    assert told[f"to {number}"] == f"ada moved the devices to version {number}."
    assert told[f"back to {world.champion.number}"] == "ada moved the devices back to version 1: it drains batteries."


def test_marks_a_day_on_which_devices_drifted_once(api: APIClient) -> None:
    federation = make_peers()
    members = [Member("one"), Member("two")]
    for number, member in enumerate(members):
        member.check_in(START)
        member.ask(number, later(number))
    (drift,) = annotations(api, federation)
    assert drift["sentence"] == "2 devices met data that their model fails on, and asked for help."


def test_says_that_it_paused_itself(api: APIClient) -> None:
    world = World()
    Federation.objects.filter(pk=world.federation.pk).update(
        state="paused", reason_code=KEPT_BACK, reason_sentence="it paused itself after 5 candidates"
    )
    world.federation.rounds.update(finished_at=later(9))
    (paused,) = annotations(api, world.federation)
    assert paused["sentence"] == "It paused itself after 5 candidates."
