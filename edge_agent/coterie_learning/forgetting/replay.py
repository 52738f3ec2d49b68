"""Merges are repeated without the device: approximate unlearning from stored updates.

As in FedEraser (Liu et al. 2021, "FedEraser: Enabling Efficient Client-Level Data Removal from Federated Learning
Models", IWQoS) without its calibration: other devices' updates are used as they were sent, although they were computed
from versions that contain the device. FedEraser has devices train a little more to correct the directions of their
updates, which no device does here.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta

from coterie_learning.forgetting import Forgetting
from coterie_learning.forgetting._reach import out_of_reach
from coterie_learning.kinds import Resources
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class Replay(Forgetting, frozen=True, tag="replay"):
    """Merges since the device's first update are repeated without it; its influence on others' updates stays."""

    rebuilds: ClassVar[bool] = True

    days: Annotated[
        int,
        Meta(
            ge=1,
            le=3650,
            description="days for which updates are kept after their round; a device whose first update is older has "
            "the lineage restarted instead",
        ),
    ] = 30

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """Merges that cannot be repeated without one device."""
        found = out_of_reach(plan)
        if found is not None:
            return found
        if plan.privacy.masking() is not None:
            return _not_repeated(f"under privacy {plan.privacy.name} nobody holds single updates")
        if plan.privacy.releases == "sums":
            why = f"privacy {plan.privacy.name} would release nearly the same sums once more, at the others' expense"
            return _not_repeated(why)
        if plan.topology.fan_in() is not None:
            return _not_repeated(f"topology {plan.topology.name} sums updates on their way, and sums cannot be divided")
        if plan.pace.staleness_allowed() is not None:
            why = f"under pace {plan.pace.name} it follows from all updates together when which of them are merged"
            return _not_repeated(why)
        if plan.merge.compares_with_root:
            return _not_repeated(f"merge {plan.merge.name} compares with an update that the platform does not keep")
        return None

    def kept_days(self) -> int:
        return self.days


def _not_repeated(why: str) -> Reason:
    return Reason("plan.cannot_replay", f"{why}; choose forgetting restart or none")
