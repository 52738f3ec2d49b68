"""Where labels are from, summed over the devices of a federation."""

import msgspec
import pytest
from rest_framework.test import APIClient

from coterie.fleet.services import revoke_device
from coterie_wire.messages import DataMetadata, LabelFacts
from tests.coterie.world import later, make_device, make_federation, make_pair

pytestmark = pytest.mark.django_db


def test_members_labels_are_summed_as_they_told_last(api: APIClient) -> None:
    federation = make_federation(make_pair())
    shown = f"/api/federations/{federation.pk}/labels/"
    nothing = dict.fromkeys(("telling", "given", "asked", "implied", "unlabelled", "questions", "answers"), 0)
    assert api.get(shown).json() == nothing
    told = (
        DataMetadata(samples=100),
        DataMetadata(samples=50, labels=LabelFacts(asked=5, implied=20, unlabelled=8, questions=7, answers=5)),
        DataMetadata(samples=10, labels=LabelFacts(asked=1, questions=1, answers=1)),
        DataMetadata(samples=9, labels=LabelFacts(asked=9, questions=9, answers=9)),
    )
    for number, metadata in enumerate(told):
        device = make_device(f"d{number}")
        device.metadata = msgspec.to_builtins(metadata)
        device.save()
    make_device("silent")
    revoke_device(device=device, now=later(1))
    assert api.get(shown).json() == {
        "telling": 2,
        "given": 134,
        "asked": 6,
        "implied": 20,
        "unlabelled": 8,
        "questions": 8,
        "answers": 6,
    }
