"""The owner's privacy budget: nothing is told under noise that would exceed it, whatever the platform's ledger says."""

from dataclasses import dataclass

from coterie_agent.config import PrivacySettings
from coterie_agent.errors import AgentError
from coterie_agent.store.privacy_ledger import PrivacyLedgerStore
from coterie_learning.accounting import cost_of, epsilon_of, is_affordable, largest_mu2

OUT_OF_BUDGET = "privacy.device_budget"


@dataclass(frozen=True)
class Budget:
    """What the owner allows in all, and what has been told of it."""

    settings: PrivacySettings
    privacy_ledger: PrivacyLedgerStore

    def check(self, noise_multiplier: float, participations: int = 1) -> None:
        """Raises AgentError ``privacy.device_budget`` where it does not pay for such a release."""
        cost = cost_of(noise_multiplier, participations)
        if not is_affordable(self._most, self.privacy_ledger.spent(), cost):
            raise self._refusal(cost)

    def charge(
        self, release: str, federation: str, noise_multiplier: float, participations: int = 1, *, now: float
    ) -> None:
        """Write a release down before anything of it leaves; the same one is charged once.

        Raises AgentError ``privacy.device_budget`` where the budget does not pay for it.
        """
        cost = cost_of(noise_multiplier, participations)
        if not self.privacy_ledger.charge(release, federation, cost, most=self._most, now=now):
            raise self._refusal(cost)

    def spent_epsilon(self) -> float:
        """What was told so far amounts to; infinite where the disk has damaged the account."""
        return epsilon_of(self.privacy_ledger.spent(), self.settings.delta)

    @property
    def _most(self) -> float:
        return largest_mu2(self.settings.epsilon, self.settings.delta) if self.settings.epsilon > 0 else 0.0

    def _refusal(self, cost: float) -> AgentError:
        delta = self.settings.delta
        detail = (
            f"this would tell epsilon {epsilon_of(cost, delta):.3g} of the device; {self.spent_epsilon():.3g} were told"
            f" before, and its owner allows {self.settings.epsilon:g} in all (agent.toml, [privacy])"
        )
        return AgentError(OUT_OF_BUDGET, detail)
