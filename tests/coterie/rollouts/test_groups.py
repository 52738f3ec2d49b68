"""Where a merge divides the fleet: a version of one group's model is tried, and promoted, in that group alone."""

from datetime import datetime

import msgspec
import pytest

from coterie.federations.models import Group, Membership
from coterie.registry.models import ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.registry.services import publish_version
from coterie.rollouts.models import Rollout
from coterie.rollouts.services import start_rollout
from coterie.rounds.advancing import sweep
from coterie_wire.bundle import Manifest
from coterie_wire.messages import Directive
from tests.coterie.rollouts.world import TERMS, follow, report
from tests.coterie.world import (
    START,
    ScriptedDevice,
    fleet_of,
    keep,
    later,
    make_dataset,
    make_federation,
    make_pair,
    make_version,
)

pytestmark = pytest.mark.django_db
PLAN = {"merge": {"kind": "distill"}, "groups": {"kind": "affinity"}}
NAMES = ("group-1", "group-2")
IN_A_GROUP = 2


class Divided:
    """A federation of two groups, and a version that the first of them is to try."""

    def __init__(self) -> None:
        self.pair = make_pair()
        self.base = make_version(self.pair)
        make_version(self.pair, seed=7, role=Role.CLOUD)
        federation = make_federation(
            self.pair, cloud_data=make_dataset(), plan=PLAN, target_updates=2 * IN_A_GROUP, over_selection=1.0
        )
        devices = fleet_of(2 * IN_A_GROUP)
        self.groups: dict[str, list[ScriptedDevice]] = {}
        self.champions: dict[str, ModelVersion] = {}
        for place, name in enumerate(NAMES):
            self.groups[name] = devices[place :: len(NAMES)]
            group = Group.objects.create(federation=federation, name=name, since=START)
            Membership.objects.bulk_create(
                Membership(group=group, federation=federation, device=device.row, since=START, since_round=1)
                for device in self.groups[name]
            )
            self.champions[name] = self._publish(self.base, name, in_use=True)
        self.candidate = self._publish(self.champions["group-1"], "group-1", in_use=False)

    def start(self) -> Rollout:
        """Its roll-out, with everybody of the group at it."""
        rollout = start_rollout(version=self.candidate, terms={**TERMS, "share": 1.0}, now=START)
        self.check_in(later(1))
        sweep(now=later(2))
        rollout.refresh_from_db()
        return rollout

    def check_in(self, now: datetime) -> dict[str, list[Directive]]:
        """What each device is told, by its group."""
        return {name: [follow(device, now) for device in members] for name, members in self.groups.items()}

    def in_use(self) -> dict[str, ModelVersion | None]:
        """The champion of each lineage."""
        return {lineage: champion(self.pair.pk, Role.DEVICE, lineage) for lineage in ("", *NAMES)}

    def _publish(self, parent: ModelVersion, lineage: str, *, in_use: bool) -> ModelVersion:
        return publish_version(
            pair_id=self.pair.pk,
            role=Role.DEVICE,
            origin=ModelVersion.Origin.SPLIT if in_use else ModelVersion.Origin.MERGE,
            parent=parent,
            parameters=keep(f"{lineage} {in_use}".encode()),
            metrics={},
            now=START,
            lineage=lineage,
            in_use=in_use,
        )


def trained_from(directive: Directive) -> str:
    """The version that the device's part in a round begins with."""
    assert directive.assignment is not None
    return msgspec.json.decode(directive.assignment.manifest.manifest, type=Manifest).version


@pytest.mark.long
def test_one_group_tries_a_version_and_its_next_round_begins_with_it() -> None:
    divided = Divided()
    rollout = divided.start()
    assert (rollout.state, rollout.champion) == ("measuring", divided.champions["group-1"])
    told = divided.check_in(later(3))
    assert [directive.trial is not None for name in NAMES for directive in told[name]] == [True, True, False, False]
    held = {name: {device.version for device in members} for name, members in divided.groups.items()}
    assert held == {"group-1": {str(divided.candidate.pk)}, "group-2": {str(divided.champions["group-2"].pk)}}
    for directive in (*told["group-1"], *told["group-2"]):
        assert directive.assignment is None
        assert directive.wait is not None and directive.wait.code == "rounds.rolling_out"
    for device in divided.groups["group-1"]:
        report(device, rollout, after=0.9)
    assert (rollout.state, rollout.figures["reports"]) == ("promoted", IN_A_GROUP)
    expected = {"": divided.base, "group-1": divided.candidate, "group-2": divided.champions["group-2"]}
    assert divided.in_use() == expected
    divided.check_in(later(11))
    sweep(now=later(12))
    for name, directives in divided.check_in(later(13)).items():
        version = expected[name]
        assert version is not None
        assert {trained_from(directive) for directive in directives} == {str(version.pk)}


def test_what_does_worse_in_its_group_is_rolled_back_there() -> None:
    divided = Divided()
    rollout = divided.start()
    for device in divided.groups["group-1"]:
        report(device, rollout, after=0.1)
    assert (rollout.state, rollout.reason_code) == ("rolled_back", "rollouts.worse")
    assert divided.in_use() == {"": divided.base, **divided.champions}
