"""Help between devices in the REST API, as an operator sees it."""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from coterie.accounts.models import Operator
from coterie.transfer.advancing import sweep
from tests.coterie.transfer.company import KNOWS_2, Member, make_company
from tests.coterie.world import later

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> APIClient:
    client = APIClient()
    client.force_authenticate(Operator.objects.create(username="ada"))
    return client


@pytest.mark.parametrize("path", ["help-requests", "transfers", "profiles"])
def test_strangers_see_nothing(path: str) -> None:
    assert Client().get(f"/api/{path}/").status_code == 401


def test_who_helped_whom_with_what_and_whether_it_helped(api: APIClient) -> None:
    federation = make_company()
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
    asked = {"federation": str(federation.pk), "state": "judged"}
    (request,) = api.get("/api/help-requests/", asked).json()["results"]
    assert (request["device_name"], request["reason_code"], request["error"]) == ("target", "transfer.kept", 0.33)
    assert request["transfers"] == [told]
    (profile,) = api.get("/api/profiles/", {"device": str(helper.row.pk)}).json()["results"]
    assert (profile["profile"]["counts"], profile["reports"]) == ([10, 10], 1)
    assert api.get("/api/transfers/", {"state": "nonsense"}).status_code == 400
