"""A seeded fleet is one that the platform could have: every page shows something, and no real fleet is touched."""

from collections import Counter
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from rest_framework.test import APIClient

from coterie.accounts.models import Operator
from coterie.fleet.models import Device
from coterie.fleet.status import DeviceStatus, status_of
from coterie.rounds.models import Round
from coterie.seeding import lineages
from coterie.transfer.models import Transfer
from tests.coterie.world import make_device

pytestmark = pytest.mark.django_db


def test_every_page_has_something_to_show(monkeypatch: pytest.MonkeyPatch) -> None:
    short = tuple(type(task)(**{**vars(task), "rounds": 6}) for task in lineages.TASKS)
    monkeypatch.setattr("coterie.seeding.management.commands.seed_fleet.TASKS", short)
    call_command("seed_fleet", devices=300, stdout=(out := StringIO()))
    assert out.getvalue().count("password: ") == 3
    stand = Counter(status_of(device, now=timezone.now()) for device in Device.objects.all())
    assert stand.keys() >= {DeviceStatus.READY, DeviceStatus.WAITING, DeviceStatus.ABSENT, DeviceStatus.NEVER_SEEN}
    api = APIClient()
    api.force_authenticate(Operator.objects.get(role="administrator"))
    overview = api.get("/api/overview/").json()
    assert overview["devices"] > 250 and overview["rounds"] and overview["traffic"] and overview["repairs"] >= 2
    fleet = ("devices", "federations", "rounds", "assignments", "pairs", "versions", "jobs", "audit")
    company = ("groups", "splits", "memberships", "help-requests", "transfers", "profiles")
    for path in (*fleet, *company, "webhooks", "webhook-deliveries"):
        assert api.get(f"/api/{path}/").json()["results"], path
    told = api.get(f"/api/devices/{Transfer.objects.all()[0].helper_id}/departures/").json()
    assert {"profile", "portion"} <= {departure["kind"] for departure in told}
    round_ = Round.objects.filter(state="published").latest("finished_at")
    kinds = [line["kind"] for line in api.get(f"/api/rounds/{round_.pk}/timeline/?page_size=500").json()["results"]]
    assert (kinds[0], kinds[1], kinds[-1]) == ("planned", "open", "published")
    archive = api.get(f"/api/versions/{round_.result_version_id}/archive/")
    assert archive.status_code == 200 and len(b"".join(archive.streaming_content)) > 1000


def test_a_real_fleet_is_left_alone() -> None:
    make_device("kitchen")
    with pytest.raises(CommandError, match="already"):
        call_command("seed_fleet", devices=5)
    assert Device.objects.count() == 1
