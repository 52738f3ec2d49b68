"""The lineage of a pair as a graph, and two versions side by side."""

import pytest
from rest_framework.test import APIClient

from coterie.fleet.models import Device
from coterie.registry.models import ModelVersion, Role
from coterie.registry.services import publish_version
from tests.coterie.world import START, keep, make_device, make_pair, make_version

pytestmark = pytest.mark.django_db


def test_the_graph_has_every_version_and_what_it_came_of(api: APIClient) -> None:
    pair = make_pair()
    cloud, first = make_version(pair, role=Role.CLOUD), make_version(pair)
    second = publish_version(
        pair_id=pair.pk,
        role=Role.DEVICE,
        origin=ModelVersion.Origin.MERGE,
        parent=first,
        parameters=keep(b"second"),
        metrics={"accuracy": 0.5, "class_accuracy": [0.25, None, 1.0]},
        now=START,
    )
    told = api.get(f"/api/pairs/{pair.pk}/graph/").json()
    assert {version["id"] for version in told["versions"]} == {str(cloud.pk), str(first.pk), str(second.pk)}
    assert told["edges"] == [{"from_version": str(first.pk), "to_version": str(second.pk), "origin": "merge"}]
    assert told["count"] == 3
    near = api.get(f"/api/pairs/{pair.pk}/graph/", {"newest": "1"}).json()
    assert [version["id"] for version in near["versions"]] == [told["versions"][-1]["id"]]
    assert (near["edges"], near["count"]) == ([], 3), "an edge has both of its ends"
    make_device("kitchen")
    Device.objects.update(held_version=str(first.pk), train_step_s=0.25)
    compared = api.get(f"/api/versions/{first.pk}/compare/{second.pk}/").json()
    figures = {line["name"]: (line["first"], line["second"], line["difference"]) for line in compared["figures"]}
    assert figures["accuracy"] == (None, 0.5, None)
    classes = [(line["name"], line["first"], line["second"]) for line in compared["classes"]]
    assert classes == [("a", None, 0.25), ("b", None, None), ("c", None, 1.0)]
    assert api.get(f"/api/versions/{first.pk}/compare/{cloud.pk}/").json()["classes"] == [], "measured of neither"
    assert figures["size_bytes"][1] == len(b"second")
    assert figures["size_bytes"][2] == len(b"second") - figures["size_bytes"][0]
    assert figures["devices_holding"] == (1, 0, -1)
    assert figures["train_step_s"] == (0.25, None, None)
    assert (compared["first"]["champion"], compared["second"]["champion"]) == (False, True)
