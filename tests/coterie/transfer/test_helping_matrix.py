"""Who helped whom, as a matrix whose size does not follow the number of transfers."""

from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from coterie.fleet.models import Device
from coterie.transfer.helping_matrix import MOST
from coterie.transfer.models import HelpRequest, Transfer
from tests.coterie.transfer.peers import Member, make_peers
from tests.coterie.world import START, make_device

pytestmark = pytest.mark.django_db


def helped(federation: object, pairs: list[tuple[Device, Device, str]]) -> None:
    """Transfers that have ended."""
    requests = [
        HelpRequest(
            id=uuid4(),
            federation=federation,
            device=target,
            state="judged",
            changed_at=START,
            due_at=START,
            plan={},
            plan_digest="",
            classes=[],
            profile={},
            asked_at=START,
            finished_at=START,
        )
        for _, target, _ in pairs
    ]
    HelpRequest.objects.bulk_create(requests)
    Transfer.objects.bulk_create(
        Transfer(
            request=request,
            helper=helper,
            state=state,
            divergence=0.1,
            matched_at=START,
            due_at=START,
            ended_at=START,
            delivered_at=START,
            merged_at=START,
            sha256="0" * 64,
            accuracy_before=0.5,
            accuracy_after=0.6,
            judged_samples=9,
        )
        for request, (helper, _, state) in zip(requests, pairs, strict=True)
    )


def test_few_devices_are_rows_and_columns_those_with_most_transfers_first(api: APIClient) -> None:
    federation = make_peers()
    one, two, three = (Member(name).row for name in ("one", "two", "three"))
    helped(federation, [(one, three, "kept"), (two, one, "kept"), (two, one, "undone"), (two, three, "kept")])
    told = api.get("/api/helping-matrix/").json()
    assert (told["by"], told["transfers"]) == ("device", 4)
    assert [(side["name"], side["transfers"]) for side in told["helpers"]] == [("two", 3), ("one", 1)]
    assert [side["device"] for side in told["targets"]] == [str(one.pk), str(three.pk)]
    assert {(c["helper"], c["target"]): (c["kept"], c["undone"]) for c in told["cells"]} == {
        (0, 0): (1, 1),
        (0, 1): (1, 0),
        (1, 1): (1, 0),
    }


def test_of_many_devices_groups_with_the_same_tags_are_and_the_smallest_are_others(api: APIClient) -> None:
    federation = make_peers()
    groups = [[make_device(f"{tag}-{n}", tags=(f"town-{tag}", "kiosk")) for n in range(2)] for tag in range(MOST + 5)]
    busy = groups[3]
    pairs = [(own[0], busy[1], "kept") for own in groups] + [(busy[0], own[1], "undone") for own in groups]
    helped(federation, pairs)
    told = api.get("/api/helping-matrix/").json()
    assert (told["by"], told["transfers"]) == ("tags", 2 * len(groups))
    assert (told["helpers"][0]["name"], told["helpers"][0]["devices"]) == ("kiosk, town-3", 1)
    assert (len(told["helpers"]), told["helpers"][-1]["name"], told["helpers"][-1]["devices"]) == (
        MOST + 1,
        "others",
        5,
    )
    assert sum(sum(cell[name] for name in ("kept", "undone", "open", "failed")) for cell in told["cells"]) == 50


def test_without_transfers_it_is_empty(api: APIClient) -> None:
    told = api.get("/api/helping-matrix/").json()
    assert (told["transfers"], told["helpers"], told["cells"]) == (0, [], [])
