"""The privacy cost of noisy releases to each device, added up as in a federation's ledger."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from coterie_learning.accounting import cost_of, epsilon_of
from coterie_learning.merge import Cohort
from coterie_learning.privacy import Privacy

DELTA = 1e-6
"""Delta at which epsilons are reported: the default of a federation's budget."""


def cost_of_release(privacy: Privacy, devices: int, *, fleet: int) -> float:
    """The cost, to each device, of one release of the updates of so many devices of a `fleet`; 0: no guarantee."""
    spend = privacy.spend(Cohort(devices, max(devices, fleet)))
    return 0.0 if spend is None else cost_of(spend.noise_multiplier, spend.participations)


@dataclass(eq=False)
class PrivacySpent:
    """Privacy costs of the devices of one simulation."""

    privacy: Privacy
    fleet: int
    by_device: dict[int, float] = field(default_factory=dict)
    """μ² by device, which adds up."""

    def release(self, devices: Iterable[int]) -> None:
        """Charge a release of the updates of `devices` together."""
        together = list(devices)
        cost = cost_of_release(self.privacy, len(together), fleet=self.fleet)
        for device in together:
            self.by_device[device] = self.by_device.get(device, 0.0) + cost

    def epsilon(self) -> float | None:
        """Epsilon of the device with the highest cost; None: the plan's privacy kind has no guarantee."""
        if self.privacy.releases == "nothing":
            return None
        return epsilon_of(max(self.by_device.values(), default=0.0), DELTA)
