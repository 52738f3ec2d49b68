"""Help between devices in the REST API, as an operator sees it."""

from uuid import uuid4

import pytest
from django.test import Client
from rest_framework.test import APIClient

from coterie.fleet.services import revoke_device
from coterie.transfer.advancing import sweep
from coterie.transfer.models import DeviceProfile, ReportedDay
from coterie.transfer.tidying import tidy
from coterie_wire.helping import Profile
from tests.coterie.transfer.peers import KNOWS_2, SLUG, Member, make_peers
from tests.coterie.world import later

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["help-requests", "transfers", "profiles"])
def test_strangers_see_nothing(path: str) -> None:
    assert Client().get(f"/api/{path}/").status_code == 401


def test_who_helped_whom_with_what_and_whether_it_helped(api: APIClient) -> None:
    federation = make_peers()
    target, helper, other = Member("target"), Member("helper"), Member("other")
    for member in (target, helper, other):
        member.check_in(later(0))
    helper.tell(KNOWS_2, later(0))
    target.ask(1, later(1))
    sweep(now=later(1))
    transfer = helper.check_in(later(2)).serve.transfer
    assert [row["state"] for row in api.get("/api/help-requests/?live=true").json()["results"]] == ["requested"]
    helper.serve(transfer, later(3))
    target.judge(transfer, later(4))
    assert api.get("/api/help-requests/?live=true").json()["results"] == []
    other.ask(2, later(5), classes=(1,))

    (told,) = api.get("/api/transfers/", {"helper": str(helper.row.pk), "state": "kept"}).json()["results"]
    assert (told["target_name"], told["helper_name"], told["classes"]) == ("target", "helper", [2])
    assert (told["accuracy_before"], told["accuracy_after"], told["judged_samples"]) == (0.6, 0.9, 32)
    assert told["size_bytes"] > 0
    assert api.get(f"/api/transfers/{transfer}/").json() == told
    of_pair = [
        api.get("/api/transfers/", {"pair": str(pair)}).json()["results"] for pair in (federation.pair_id, uuid4())
    ]
    assert of_pair == [[told], []]
    asked = {"federation": str(federation.pk), "state": "judged"}
    (request,) = api.get("/api/help-requests/", asked).json()["results"]
    assert (request["device_name"], request["reason_code"]) == ("target", "transfer.kept")
    assert request["error"] == pytest.approx(1 / 3)
    assert request["transfers"] == [told]
    (profile,) = api.get("/api/profiles/", {"device": str(helper.row.pk)}).json()["results"]
    assert (profile["profile"]["counts"], profile["reports"]) == ([10, 10], 1)
    assert api.get("/api/transfers/", {"state": "nonsense"}).status_code == 400


def test_whose_data_are_like_a_devices(api: APIClient) -> None:
    make_peers()
    own, near, far, gone = (Member(name) for name in ("own", "near", "far", "gone"))
    for member, counts in ((own, (2, 2)), (near, (10, 9)), (far, (1, 99)), (gone, (2, 2))):
        member.tell(Profile(batch=5, classes=(0, 2), counts=counts, hits=counts), later(0))
    revoke_device(device=gone.row, now=later(1))
    (told,) = api.get(f"/api/devices/{own.row.pk}/neighbours/").json()
    assert (told["federation_slug"], told["labels"]) == (SLUG, ["a", "b", "c"])
    assert (told["own"]["device_name"], told["own"]["prior"]) == ("own", [0.5, 0, 0.5])
    assert [one["device_name"] for one in told["neighbours"]] == ["near", "far"]
    assert 0 < told["neighbours"][0]["divergence"] < told["neighbours"][1]["divergence"] < 1
    assert api.get(f"/api/devices/{Member('silent').row.pk}/neighbours/").json() == []


def test_each_days_reports_are_counted_and_forgotten_in_the_end() -> None:
    make_peers()
    member = Member("member")
    for seconds in (0, 1, 24 * 3600):
        member.tell(KNOWS_2, later(seconds))
    member.ask(1, later(24 * 3600 + 1))
    days = ReportedDay.objects.order_by("day")
    assert [(row.day.isoformat(), row.reports) for row in days] == [("2026-01-01", 2), ("2026-01-02", 2)]
    assert days[0].size_bytes == DeviceProfile.objects.get().size_bytes * 2 // 3
    tidy(now=later(91 * 24 * 3600))
    assert [row.day.isoformat() for row in ReportedDay.objects.all()] == ["2026-01-02"]
