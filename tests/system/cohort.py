"""A federation whose rounds are held one after the other by scripted devices, to compare with one that is disturbed."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from coterie_wire.messages import Capabilities
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import payload
from tests.system.scripted_device import CAPABILITIES, ScriptedDevice

DEVICES = 3


class Cohort:
    """A federation and its devices, which hold one round after the other.

    Its devices unplug themselves as soon as they have an assignment, so that the next round stays planned until a test
    plugs them in.
    """

    capabilities: ClassVar[Capabilities] = CAPABILITIES

    def __init__(
        self, site: Site, name: str, *, held_out: str | None = None, plan: Mapping[str, object] = MappingProxyType({})
    ) -> None:
        self.site = site
        self.pair = site.unused_pair()
        pace = {"kind": "sync", "target_updates": DEVICES, "min_updates": DEVICES, "over_selection": 1}
        plan = {"pace": pace, **plan}
        self.federation = site.operator.start_federation(name, pair=self.pair, plan=plan, held_out=held_out)
        token = site.operator.enrolment_token(tag=name, uses=DEVICES)
        self.published: dict[int, str] = {}
        names = [f"{name}-{number}" for number in range(DEVICES)]
        self.devices = [ScriptedDevice(site.url, token, one, self.capabilities) for one in names]

    def planned_round(self) -> int:
        """The number of the round that waits for devices."""

        def look() -> int | None:
            (newest, *_) = self.site.operator.list("/rounds/", federation=self.federation) or [None]
            return newest["number"] if newest and newest["state"] == "planned" else None

        return eventually(look)

    def open_round(self, number: int) -> list[str]:
        """Everybody's assignment, by device."""
        for device in self.devices:
            device.check_in()
        assignments = [device.assignment(number).assignment for device in self.devices]
        for device in self.devices:
            device.check_in(ready=False)
        return assignments

    def deliver(self, number: int, assignments: list[str], *, but: int = 0) -> None:
        """Bring everybody's update, but those of the last `but` devices."""
        for index in range(DEVICES - but):
            self.devices[index].deliver(assignments[index], update(number, index))

    def parameters_after(self, number: int) -> str:
        """The hash of what a round published, after a look at whether it ended as it should."""
        operator = self.site.operator
        round_ = operator.ended_round(self.federation, number)
        assert round_["state"] == "published", round_
        assert [assignment["state"] for assignment in round_["assignments"]] == ["delivered"] * DEVICES
        assert (round_["updates"], round_["metrics"]["updates"]) == (DEVICES, DEVICES)
        versions = operator.list("/versions/", pair=self.pair, role="device")
        assert sorted(version["number"] for version in versions) == list(range(1, number + 2))
        result = operator.get(f"/versions/{round_['result_version']}/")
        assert (result["number"], result["parent"]) == (number + 1, round_["base_version"])
        assert result["champion"]
        parameters: str = result["parameters"]
        return parameters

    def hold(self, number: int) -> None:
        """A round that nothing disturbs."""
        self.deliver(number, self.open_round(number))
        self.published[number] = self.parameters_after(number)

    def close(self) -> None:
        for device in self.devices:
            device.close()


def update(number: int, device: int) -> bytes:
    """The same in both cohorts."""
    return payload(100 * number + device)
