import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from coterie.fleet.models import Device
from coterie.fleet.operator_api import DeviceViewSet
from coterie.fleet.selectors import DeviceRevoked, device_of_credential
from coterie.fleet.services import EnrolledDevice
from coterie.fleet.status import DeviceStatus
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.messages import CheckIn
from coterie_wire.version import PROTOCOL
from tests.coterie.world import hear

pytestmark = pytest.mark.django_db


def test_lists_devices_by_what_they_are_and_tells_why_they_wait(
    api: APIClient, enrol: Callable[..., EnrolledDevice]
) -> None:
    ready, waiting, absent = (enrol(name, tags=(name,)).device for name in ("ready", "waiting", "zabsent"))
    now = timezone.now()
    hear(ready, CheckIn(PROTOCOL, Conditions()), now)
    reason = Reason("conditions.not_charging", "on battery")
    hear(waiting, CheckIn(PROTOCOL, Conditions(), (reason,)), now)

    def names(**query: str) -> list[str]:
        return [device["name"] for device in api.get("/api/devices/", query).json()["results"]]

    assert names() == ["ready", "waiting", "zabsent"]
    assert names(present="true") == ["ready", "waiting"]
    assert names(present="false") == ["zabsent"]
    assert names(ready="true") == ["ready"]
    assert names(tag="waiting", state="enrolled") == ["waiting"]
    assert names(page_size="1", page="2") == ["waiting"]
    told = api.get(f"/api/devices/{waiting.pk}/").json()
    assert (told["ready"], told["reasons"]) == (False, [{"code": reason.code, "sentence": reason.sentence}])
    assert "credential_hash" not in told
    assert api.get(f"/api/devices/{absent.pk}/").json()["reasons"][0]["code"] == "fleet.never_seen"


def test_a_page_of_devices_takes_as_many_queries_as_one_device(
    api: APIClient, enrol: Callable[..., EnrolledDevice], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for devices in (1, 20):
        for _ in range(devices):
            enrol()
        with django_assert_num_queries(3):  # how many there are, the keys of the page, and its rows
            assert api.get("/api/devices/").json()["results"]


ON_SQLITE = pytest.mark.skipif(connection.vendor != "sqlite", reason="another database reads a small table as it is")


def plans(api: APIClient, query: dict[str, str]) -> list[str]:
    """How SQLite counts devices, finds the keys of a page and, if there are any, reads its rows."""
    with CaptureQueriesContext(connection) as queries:
        assert api.get("/api/devices/", query).status_code == 200
    found = []
    with connection.cursor() as cursor:
        for sql in (query["sql"] for query in queries if 'FROM "fleet_device"' in query["sql"]):
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            found.append("\n".join(row[3] for row in cursor.fetchall()))
    return found


@ON_SQLITE
@pytest.mark.parametrize("sort", DeviceViewSet.sorts)
@pytest.mark.parametrize("direction", ["", "-"])
def test_a_page_of_sorted_devices_is_read_from_an_index(
    api: APIClient, enrol: Callable[..., EnrolledDevice], sort: str, direction: str
) -> None:
    enrol()
    _, keys, rows = plans(api, {"sort": direction + sort})
    assert re.search("SCAN fleet_device USING (COVERING )?INDEX device_", keys), keys
    assert "TEMP B-TREE FOR ORDER BY" not in keys, "all rows are sorted"
    assert "SEARCH fleet_device USING INDEX sqlite_autoindex_fleet_device_1 (id=?)" in rows, rows


@ON_SQLITE
@pytest.mark.parametrize(
    ("status", "blocked_by", "until_s"), [("ready", "", 60), ("waiting", "power", 60), ("absent", "", -60)]
)
def test_a_page_of_a_status_is_found_without_reading_other_devices(
    api: APIClient, enrol: Callable[..., EnrolledDevice], status: str, blocked_by: str, until_s: int
) -> None:
    enrol()
    Device.objects.update(blocked_by=blocked_by, present_until=timezone.now() + timedelta(seconds=until_s))
    assert "USING COVERING INDEX" in plans(api, {"status": status})[1]


@ON_SQLITE
@pytest.mark.parametrize(
    "query", [{}, {"search": "hall"}, {"tag": "kiosk"}, *({"status": status} for status in DeviceStatus)]
)
def test_devices_are_counted_without_reading_all_of_them(api: APIClient, query: dict[str, str]) -> None:
    plan = plans(api, query)[0].splitlines()
    # The index of devices in quarantine has no others.
    few = "USING COVERING INDEX|SEARCH fleet_device USING INDEX|USING INDEX device_by_quarantine"
    assert all(re.search(few, step) for step in plan), plan


def test_renames_tags_and_revokes(api: APIClient, enrol: Callable[..., EnrolledDevice]) -> None:
    device, credential = enrol()
    changed = api.patch(f"/api/devices/{device.pk}/", {"name": "hall", "tags": ["b", "a"], "state": "left"}).json()
    assert (changed["name"], changed["tags"], changed["state"]) == ("hall", ["a", "b"], "enrolled")
    assert api.post(f"/api/devices/{device.pk}/revoke/").json()["state"] == "revoked"
    with pytest.raises(DeviceRevoked):
        device_of_credential(credential)


def test_makes_an_enrolment_token_whose_secret_is_shown_once(api: APIClient) -> None:
    expires_at = timezone.now() + timedelta(days=1)
    body = {"label": "kiosks", "uses_allowed": 3, "tags": ["kiosk"], "expires_at": expires_at}
    made = api.post("/api/enrolment-tokens/", body)
    assert made.status_code == 201
    assert made.json()["secret"].startswith("coe_")
    (listed,) = api.get("/api/enrolment-tokens/").json()["results"]
    assert "secret" not in listed
    assert api.post(f"/api/enrolment-tokens/{listed['id']}/revoke/").json()["revoked_at"] is not None


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("post", "/api/enrolment-tokens/", {}, 400, "rest.invalid"),
        ("post", "/api/enrolment-tokens/", "{", 400, "rest.malformed"),
        (
            "post",
            "/api/enrolment-tokens/",
            {"label": "x", "expires_at": "soon"},
            400,
            "rest.invalid",
        ),
        (
            "post",
            "/api/enrolment-tokens/",
            {"label": "x", "expires_at": "2030-01-01T00:00Z", "tags": ["NO"]},
            422,
            "fleet.bad_tag",
        ),
        ("get", "/api/devices/?ready=perhaps", None, 400, "rest.invalid"),
        ("get", "/api/devices/?page=99", None, 404, "rest.not_found"),
        ("get", "/api/devices/6a1b6ad8-4ad4-4b5c-9d0d-5cf05dbd1bd4/", None, 404, "rest.not_found"),
        ("get", "/api/devices/nonsense/", None, 404, "rest.not_found"),
        ("post", "/api/devices/nonsense/revoke/", None, 404, "rest.not_found"),
        ("delete", "/api/devices/", None, 405, "rest.method_not_allowed"),
    ],
)
def test_bad_requests_get_a_coded_problem(
    method: str, path: str, body: object, status: int, code: str, api: APIClient
) -> None:
    if isinstance(body, str):
        answer = api.generic(method.upper(), path, body, content_type="application/json")
    else:
        answer = getattr(api, method)(path, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer["Content-Type"] == "application/problem+json"
    assert not Device.objects.exists()


def test_strangers_are_refused() -> None:
    answer = APIClient().get("/api/devices/")
    assert (answer.status_code, answer.json()["code"]) == (401, "rest.unauthenticated")
    assert answer["WWW-Authenticate"] == "Bearer"
