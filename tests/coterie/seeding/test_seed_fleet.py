"""A seeded fleet is one that the platform could have: every page shows something, and no real fleet is touched."""

from collections import Counter
from io import StringIO
from random import Random

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from rest_framework.test import APIClient

from coterie.accounts.models import Operator
from coterie.federations.models import Federation
from coterie.fleet.models import Device, Observation
from coterie.fleet.status import DeviceStatus, status_of
from coterie.registry.models import Role
from coterie.registry.selectors import champion, has_teacher_weights
from coterie.rollouts.models import Rollout
from coterie.rounds.models import Assignment, Round, RoundEvent
from coterie.rounds.teaching import make_teachers
from coterie.seeding import lineages
from coterie.seeding.devices import make_devices
from coterie.seeding.operators import make_people, make_tokens
from coterie.transfer.models import Transfer
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.structs import from_values
from tests.coterie.world import START, make_device

pytestmark = pytest.mark.django_db
KEYS = ("id", "credential_hash")
"""Numbers of the database, and secrets, which no seed may give."""


def seed(monkeypatch: pytest.MonkeyPatch, *, devices: int) -> tuple[APIClient, str]:
    """A seeded fleet with few rounds behind it: its administrator, and what the command said."""
    short = tuple(type(task)(**{**vars(task), "rounds": 6}) for task in lineages.TASKS)
    monkeypatch.setattr("coterie.seeding.management.commands.seed_fleet.TASKS", short)
    call_command("seed_fleet", devices=devices, stdout=(out := StringIO()))
    api = APIClient()
    api.force_authenticate(Operator.objects.get(role="administrator"))
    return api, out.getvalue()


def test_every_page_has_something_to_show(monkeypatch: pytest.MonkeyPatch) -> None:
    api, said = seed(monkeypatch, devices=300)
    assert said.count("password: ") == 3
    stand = Counter(status_of(device, now=timezone.now()) for device in Device.objects.all())
    assert stand.keys() >= {DeviceStatus.READY, DeviceStatus.WAITING, DeviceStatus.ABSENT, DeviceStatus.NEVER_SEEN}
    overview = api.get("/api/overview/").json()
    assert overview["devices"] > 250 and overview["rounds"] and overview["traffic"] and overview["repairs"] >= 2
    fleet = ("devices", "federations", "rounds", "assignments", "pairs", "versions", "jobs", "audit")
    peers = ("groups", "splits", "memberships", "help-requests", "transfers", "profiles")
    office = ("enrolment-tokens", "tokens", "webhooks", "webhook-deliveries")
    for path in (*fleet, *peers, *office, "rollouts", "agent-rollouts", "agent-updates", "alliances"):
        assert api.get(f"/api/{path}/").json()["results"], path
    assert set(Rollout.objects.values_list("state", flat=True)) == {"measuring", "promoted", "rolled_back"}
    beside = [one.figures for one in Rollout.objects.all() if one.figures.get("shadowed")]
    assert beside and all(one["agreement"] > 0.8 and one["candidate_p99_s"] > 0 for one in beside)
    told = api.get(f"/api/devices/{Transfer.objects.all()[0].helper_id}/departures/").json()
    assert {"profile", "portion"} <= {departure["kind"] for departure in told}
    round_ = Round.objects.filter(state="published").latest("finished_at")
    kinds = [line["kind"] for line in api.get(f"/api/rounds/{round_.pk}/timeline/?page_size=500").json()["results"]]
    assert (kinds[0], kinds[1], kinds[-1]) == ("planned", "open", "published")
    archive = api.get(f"/api/versions/{round_.result_version.pk}/archive/")
    assert archive.status_code == 200 and len(b"".join(archive.streaming_content)) > 1000


def test_the_course_of_a_live_round_ends_where_each_device_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, devices=60)
    live = Assignment.objects.filter(round__state=Round.State.OPEN, state__in=Assignment.LIVE)
    assert len({part.stage for part in live}) > 1
    for part in live:
        last = RoundEvent.objects.filter(round=part.round, device=part.device).order_by("at", "pk").last()
        assert last is not None
        assert last.kind == part.stage


def test_the_plan_of_each_federation_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    api, _ = seed(monkeypatch, devices=60)
    for row in api.get("/api/federations/").json()["results"]:
        plan = row["plan"]
        plan["pace"]["deadline_s"] += 60
        changed = api.patch(f"/api/federations/{row['id']}/", {"plan": plan})
        assert changed.status_code == 200, f"{row['name']}: {changed.content.decode()}"
        assert changed.json()["plan"]["pace"] == plan["pace"]


def test_the_teacher_of_the_taught_one_is_made_of_its_cloud_model(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, devices=60)
    federation = Federation.objects.get(cloud_data__isnull=False)
    make_teachers(federation=federation, round_=None, now=timezone.now())
    version = champion(federation.pair_id, Role.CLOUD)
    assert version is not None
    assert has_teacher_weights(version)


@pytest.mark.long
def test_the_same_seed_makes_the_same_devices_with_the_same_past() -> None:
    tokens = make_tokens(make_people(), now=START)

    def made(seed: int) -> list[list[dict[str, object]]]:
        make_devices(40, tokens=tokens, random=Random(seed), now=START)
        rows = [
            [{name: value for name, value in row.items() if name not in KEYS} for row in table.objects.values()]
            for table in (Device, Observation)
        ]
        Device.objects.all().delete()
        return rows

    first, again, other = made(1), made(1), made(2)
    assert len(first[1]) > 40
    assert first == again != other


def test_what_a_past_holds_is_what_a_device_could_have_told() -> None:
    make_devices(20, tokens=make_tokens(make_people(), now=START), random=Random(1), now=START)
    for row in Observation.objects.all():
        from_values(row.conditions, Conditions)
        assert row.blocked_by == next((reason.code for reason in from_values(row.blockers, tuple[Reason, ...])), "")
    assert Observation.objects.exclude(blocked_by="").exists()


def test_a_real_fleet_is_left_alone() -> None:
    make_device("kitchen")
    with pytest.raises(CommandError, match="already"):
        call_command("seed_fleet", devices=5)
    assert Device.objects.count() == 1
