"""What devices hear of versions that were rolled back."""

import pytest

from coterie.federations.models import Federation
from coterie.fleet.services import pin_device
from coterie.registry.models import ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.registry.services import publish_version, roll_back
from tests.coterie.transfer.peers import Member, make_peers
from tests.coterie.world import START, fleet_of, keep, later, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db


@pytest.fixture
def peers() -> Federation:
    """Devices that have models of their own; its pair has two versions, the second in use."""
    federation = make_peers()
    first = champion(federation.pair_id, Role.DEVICE)
    assert first is not None
    child_of(first)
    return federation


def child_of(version: ModelVersion) -> ModelVersion:
    return publish_version(
        pair_id=version.pair_id,
        role=Role.DEVICE,
        origin=ModelVersion.Origin.MERGE,
        parent=version,
        parameters=keep(b"another"),
        metrics={},
        now=later(1),
    )


def rolled_back(federation: Federation) -> str:
    """The name of the version that was in use."""
    left = champion(federation.pair_id, Role.DEVICE)
    assert left is not None
    roll_back(pair=federation.pair, role=Role.DEVICE, to=None, now=later(2))
    return str(left.pk)


def test_devices_with_models_of_their_own_hear_of_it_at_every_check_in(peers: Federation) -> None:
    member = Member("member")
    assert member.check_in(later(1)).withdrawn == ()
    left = rolled_back(peers)
    for seconds in (3, 20):
        assert member.check_in(later(seconds)).withdrawn == (left,)


def test_a_device_that_is_to_hold_the_version_all_the_same_does_not(peers: Federation) -> None:
    member = Member("member")
    member.check_in(later(1))
    left = rolled_back(peers)
    pin_device(device=member.row, version=left)
    assert member.check_in(later(3)).withdrawn == ()


def test_who_has_no_own_model_needs_not_know() -> None:
    pair = make_pair()
    child_of(make_version(pair))
    make_federation(pair, target_updates=50, min_updates=50)
    roll_back(pair=pair, role=Role.DEVICE, to=None, now=START)
    (device,) = fleet_of(1)
    assert device.check_in(later(3)).withdrawn == ()
