"""Asks the owner again when the platform raises a federation's privacy budget, where the owner's policy says so."""

from dataclasses import dataclass

import msgspec

from coterie_agent.config import PrivacySettings
from coterie_agent.errors import AgentError, Exit
from coterie_agent.store.promises import PromiseStore, Raised
from coterie_learning.accounting import is_affordable, largest_mu2
from coterie_wire.conditions import Reason
from coterie_wire.messages import PrivacyBudget

BUDGET_RAISED = "privacy.budget_raised"


class Agreed(msgspec.Struct, frozen=True):
    """The privacy budget of a federation that the owner has agreed to, or is to agree to."""

    federation: str
    epsilon: float
    delta: float


@dataclass(frozen=True)
class BudgetConsent:
    """The budgets that platforms have promised, and the owner's decisions on them."""

    settings: PrivacySettings
    store: PromiseStore

    def check(self, federation: str, budget: PrivacyBudget) -> None:
        """Accept the platform's budget of a federation if it is the first, or no larger than the agreed one.

        Raises AgentError ``privacy.budget_raised`` where it is larger, and the owner wants to be asked.
        """
        agreed = self.store.agreed(federation)
        if agreed == budget and not self._is_pending(federation):
            return
        if agreed is None or self.settings.raised == "accept" or _is_within(agreed, budget):
            self.store.agree(federation, budget)
            return
        self.store.ask(federation, budget)
        raise AgentError(BUDGET_RAISED, reason_budget_raised(Raised(federation, agreed, budget)).sentence)

    def agree(self, federation: str) -> PrivacyBudget:
        """Record that the owner agrees to the pending budget. Raises AgentError ``privacy.nothing_asked``."""
        for raised in self.store.raised():
            if raised.federation == federation:
                self.store.agree(federation, raised.asked)
                return raised.asked
        detail = f"no larger budget of {federation!r} is asked for; coterie-agent agree lists what is"
        raise AgentError("privacy.nothing_asked", detail, exit_code=Exit.USAGE)

    def _is_pending(self, federation: str) -> bool:
        return any(raised.federation == federation for raised in self.store.raised())


def reason_budget_raised(raised: Raised) -> Reason:
    """Why the device does not take part, and what the owner can do."""
    federation, agreed, asked = raised
    more, before = (f"epsilon {one.epsilon:g} at delta {one.delta:g}" for one in (asked, agreed))
    sentence = f"{federation} may now tell {more} of this device, and {before} was agreed"
    sentence += f"; agree with: coterie-agent agree {federation}"
    return Reason(BUDGET_RAISED, sentence[:400])


def _is_within(agreed: PrivacyBudget, budget: PrivacyBudget) -> bool:
    return is_affordable(largest_mu2(agreed.epsilon, agreed.delta), 0.0, largest_mu2(budget.epsilon, budget.delta))
