"""Groups and who is in them, as operators list them."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from coterie.federations.models import Group, Membership
from tests.coterie.world import later, make_device, make_federation, make_pair

pytestmark = pytest.mark.django_db


def test_members_are_counted_and_not_read(api: APIClient) -> None:
    federation = make_federation(make_pair())
    groups = [Group.objects.create(federation=federation, name=name, since=later(0)) for name in ("a", "b", "none")]
    for number in range(5):
        device = make_device(f"d{number}")
        of_a = number < 3
        Membership.objects.create(
            group=groups[0 if of_a else 1],
            federation=federation,
            device=device,
            since=later(0),
            since_round=1,
            until=later(1) if number == 4 else None,
        )
    with CaptureQueriesContext(connection) as queries:
        listed = api.get("/api/groups/").json()["results"]
    assert {group["name"]: group["members"] for group in listed} == {"a": 3, "b": 1, "none": 0}
    reads = [query["sql"] for query in queries if query["sql"].startswith('SELECT "federations_membership"')]
    assert reads == []
