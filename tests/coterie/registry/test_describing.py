"""Names, notes and the archive, of everything that has them, through the REST API."""

import pytest
from rest_framework.test import APIClient

from coterie.audit.models import Entry
from coterie.federations.models import Federation
from coterie.registry.models import ModelPair, ModelVersion
from tests.coterie.registry.test_services import child_of
from tests.coterie.world import make_device, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db
UNSAFE = "digits\u202egpj"


def listed(api: APIClient, path: str, **query: str) -> list[str]:
    return [row["id"] for row in api.get(f"/api/{path}/", query).json()["results"]]


@pytest.fixture
def version() -> ModelVersion:
    """The first of two, which is not in use any more."""
    first = make_version(make_pair())
    child_of(first, b"second")
    return first


@pytest.fixture
def federation(version: ModelVersion) -> Federation:
    made = make_federation(version.pair)
    Federation.objects.filter(pk=made.pk).update(state="finished")
    made.refresh_from_db()
    return made


@pytest.mark.parametrize("path", ["devices", "pairs", "federations"])
def test_names_and_notes_are_changed_and_the_log_tells_what_they_were(
    api: APIClient, path: str, federation: Federation
) -> None:
    rows = {"devices": make_device("kiosk"), "pairs": federation.pair, "federations": federation}
    row = rows[path]
    before = row.name
    changed = api.patch(f"/api/{path}/{row.pk}/", {"name": "Hall 3", "notes": "Off at night."}, format="json")
    assert (changed.json()["name"], changed.json()["notes"]) == ("Hall 3", "Off at night.")
    entry = Entry.objects.first()
    assert entry is not None
    assert entry.before == {"name": before, "notes": ""}
    assert entry.after == {"name": "Hall 3", "notes": "Off at night."}
    refused = api.patch(f"/api/{path}/{row.pk}/", {"name": UNSAFE}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (422, "names.control_character")
    if path != "devices":
        assert api.get(f"/api/{path}/{row.pk}/").json()["slug"] == changed.json()["slug"]


def test_a_version_is_named_beside_its_row(api: APIClient, version: ModelVersion) -> None:
    blank = api.get(f"/api/versions/{version.pk}/").json()
    assert (blank["name"], blank["notes"], blank["archived_at"]) == ("", "", None)
    named = api.patch(f"/api/versions/{version.pk}/", {"name": "the one of the fair"}, format="json").json()
    assert (named["name"], named["number"]) == ("the one of the fair", 1)
    assert listed(api, "versions", search="fair") == [str(version.pk)]
    graph = api.get(f"/api/pairs/{version.pair_id}/graph/").json()
    assert [one["name"] for one in graph["versions"]] == ["the one of the fair", ""]


def test_a_version_in_use_cannot_be_archived_and_an_archived_one_not_used(
    api: APIClient, version: ModelVersion
) -> None:
    newest = version.pair.versions.get(number=2)
    refused = api.post(f"/api/versions/{newest.pk}/archive/")
    assert (refused.status_code, refused.json()["code"]) == (409, "registry.version_still_in_use")
    assert api.post(f"/api/versions/{version.pk}/archive/").json()["archived_at"] is not None
    assert listed(api, "versions") == [str(newest.pk)]
    assert listed(api, "versions", archived="true") == [str(version.pk)]
    champion = {"role": "device", "version": str(version.pk)}
    refused = api.post(f"/api/pairs/{version.pair_id}/champion/", champion, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "registry.version_archived")
    assert api.post(f"/api/versions/{version.pk}/restore/").json()["archived_at"] is None
    assert api.post(f"/api/pairs/{version.pair_id}/champion/", champion, format="json").status_code == 200


def test_what_holds_rounds_is_not_archived_nor_its_pair(api: APIClient, federation: Federation) -> None:
    Federation.objects.update(state="paused")
    refused = api.post(f"/api/federations/{federation.pk}/archive/")
    assert (refused.status_code, refused.json()["code"]) == (409, "federations.still_going_on")
    Federation.objects.update(state="finished")
    refused = api.post(f"/api/pairs/{federation.pair_id}/archive/")
    assert (refused.status_code, refused.json()["code"]) == (409, "registry.pair_still_used")
    for path, key in (("federations", federation.pk), ("pairs", federation.pair_id)):
        assert api.post(f"/api/{path}/{key}/archive/").status_code == 200
        assert listed(api, path) == []
        assert listed(api, path, archived="true") == [str(key)]
        assert api.get(f"/api/{path}/{key}/").status_code == 200
    wanted = {"name": "another", "pair": str(federation.pair_id)}
    assert api.post("/api/federations/", wanted, format="json").json()["code"] == "federations.pair_archived"
    Federation.objects.update(state="draft")
    assert api.post(f"/api/federations/{federation.pk}/start/").json()["code"] == "federations.archived"
    assert api.post(f"/api/pairs/{federation.pair_id}/restore/").json()["archived_at"] is None
    assert listed(api, "pairs") == [str(federation.pair_id)]


def test_a_device_of_the_fleet_is_not_archived_one_that_was_revoked_is(api: APIClient) -> None:
    device = make_device("kiosk")
    refused = api.post(f"/api/devices/{device.pk}/archive/")
    assert (refused.status_code, refused.json()["code"]) == (409, "fleet.still_enrolled")
    api.post(f"/api/devices/{device.pk}/revoke/")
    assert listed(api, "devices", status="revoked") == [str(device.pk)]
    api.post(f"/api/devices/{device.pk}/archive/")
    assert listed(api, "devices") == listed(api, "devices", status="revoked") == []
    assert listed(api, "devices", archived="true") == [str(device.pk)]
    api.post(f"/api/devices/{device.pk}/restore/")
    assert listed(api, "devices") == [str(device.pk)]


def test_archiving_twice_keeps_the_time_and_leaves_one_entry(api: APIClient) -> None:
    pair = make_pair()
    times = {api.post(f"/api/pairs/{pair.pk}/archive/").json()["archived_at"] for _ in range(2)}
    assert len(times) == 1
    assert Entry.objects.filter(action="registry.archive_pair").count() == 1
    assert ModelPair.objects.get().archived_at is not None
