"""A device's past has an entry for each change and none for a repetition, and does not grow without bound."""

from datetime import timedelta

import pytest

from coterie.fleet import observing
from coterie.fleet.models import Observation
from coterie.fleet.observing import delete_old
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.messages import CheckIn
from coterie_wire.version import PROTOCOL
from tests.coterie.world import START, hear, later, make_device

pytestmark = pytest.mark.django_db

BATTERY = (Reason("conditions.on_battery", "on battery"),)


def test_what_changes_is_kept_and_what_repeats_is_not() -> None:
    device = make_device("kitchen")
    story = [
        (Conditions(charging="yes", temperature_c=40.0), (), "v1", True),
        (Conditions(charging="yes", temperature_c=40.0), (), "v1", False),
        (Conditions(charging="yes", temperature_c=41.0), (), "v1", False),
        (Conditions(charging="yes", temperature_c=55.0), (), "v1", True),
        (Conditions(charging="no", temperature_c=55.0), BATTERY, "v1", True),
        (Conditions(charging="no", temperature_c=55.0), BATTERY, "v2", True),
    ]
    for number, (conditions, blockers, version, kept) in enumerate(story):
        before = Observation.objects.count()
        check_in = CheckIn(PROTOCOL, conditions, blockers, version=version)
        hear(device, check_in, later(number))
        assert Observation.objects.count() - before == kept, number
    youngest = Observation.objects.first()
    assert youngest is not None
    assert (youngest.blocked_by, youngest.held_version, youngest.at) == ("conditions.on_battery", "v2", later(5))


def test_the_old_and_the_many_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    kitchen, hall = make_device("kitchen"), make_device("hall")
    for device, ages_d in ((kitchen, (0, 1, 2, 3)), (hall, (0, 20))):
        for age_d in ages_d:
            Observation.objects.create(
                device=device, at=START - timedelta(days=age_d), conditions={}, blockers=[], held_version=str(age_d)
            )
    monkeypatch.setattr(observing, "MAX_OF_A_DEVICE", 3)
    delete_old(now=START)
    assert [row.held_version for row in kitchen.observations.all()] == ["0", "1", "2"]
    assert [row.held_version for row in hall.observations.all()] == ["0"]
