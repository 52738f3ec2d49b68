"""What releases under noise have told of each device, as a federation's ledger adds it up."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from coterie_learning.accounting import cost_of, epsilon_of
from coterie_learning.merge import Cohort
from coterie_learning.privacy import Privacy

DELTA = 1e-6
"""At which epsilons are told: that of a federation's budget, where nobody sets another."""


def cost_of_release(privacy: Privacy, devices: int, *, fleet: int) -> float:
    """What one release of the updates of so many devices of a `fleet` tells of each; 0: nothing is guaranteed."""
    spend = privacy.spend(Cohort(devices, max(devices, fleet)))
    return 0.0 if spend is None else cost_of(spend.noise_multiplier, spend.participations)


@dataclass(eq=False)
class PrivacySpent:
    """Of the devices of one simulation."""

    privacy: Privacy
    fleet: int
    by_device: dict[int, float] = field(default_factory=dict)
    """Squares of Gaussian means, which add up."""

    def release(self, devices: Iterable[int]) -> None:
        """Something is released of the updates of `devices` together."""
        together = list(devices)
        cost = cost_of_release(self.privacy, len(together), fleet=self.fleet)
        for device in together:
            self.by_device[device] = self.by_device.get(device, 0.0) + cost

    def epsilon(self) -> float | None:
        """Of the device of which most was told; None: the plan's privacy kind guarantees nothing."""
        if self.privacy.releases == "nothing":
            return None
        return epsilon_of(max(self.by_device.values(), default=0.0), DELTA)
