"""Which agents devices run, kept beside them."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from coterie.fleet.agents import agents_of, count_by_release
from coterie.fleet.models import Device, DeviceAgent
from coterie.fleet.services import EnrolledDevice, leave_fleet, revoke_device
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.messages import Capabilities, CheckIn
from coterie_wire.updating import TakesUpdates
from coterie_wire.version import PROTOCOL
from tests.coterie.world import hear

pytestmark = pytest.mark.django_db
OFF = TakesUpdates(Reason("updates.off", "its owner wants no updates"))


def tell(device: Device, agent: str, updates: TakesUpdates | None) -> None:
    capabilities = Capabilities(cores=4, memory_bytes=1 << 30, machine="aarch64 Linux", agent=agent, updates=updates)
    hear(device, CheckIn(PROTOCOL, Conditions(), capabilities=capabilities), timezone.now())


def kept() -> list[tuple[str, str, int]]:
    return sorted(count_by_release(agents_of("")))


def test_it_is_what_the_device_told_last(enrol: Callable[..., EnrolledDevice]) -> None:
    device = enrol("kitchen").device
    assert kept() == [("0.1.0", "updates.unknown", 1)]
    tell(device, "0.2.0", OFF)
    assert kept() == [("0.2.0", "updates.off", 1)]
    tell(device, "0.3.0", TakesUpdates())
    assert kept() == [("0.3.0", "", 1)]
    hear(device, CheckIn(PROTOCOL, Conditions()), timezone.now())
    assert kept() == [("0.3.0", "", 1)]


@pytest.mark.parametrize("end", [revoke_device, leave_fleet])
def test_only_enrolled_devices_have_one(end: Callable[..., None], enrol: Callable[..., EnrolledDevice]) -> None:
    device, other = enrol("kitchen").device, enrol("hall").device
    end(device=device, now=timezone.now())
    tell(device, "0.2.0", None)  # it was under way when the device left
    assert [agent.device for agent in DeviceAgent.objects.all()] == [other]


def test_they_are_counted_by_tag(enrol: Callable[..., EnrolledDevice]) -> None:
    enrol("kitchen", tags=("home",))
    enrol("hall", tags=("home-office",))
    assert [row.devices for row in count_by_release(agents_of("home"))] == [1]
    assert [row.devices for row in count_by_release(agents_of(""))] == [2]
