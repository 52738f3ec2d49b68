"""Rounds restart from the last version without the device: exact unlearning.

As SISA retrains from the last checkpoint that does not contain a sample (Bourtoule et al. 2021, "Machine Unlearning",
IEEE S&P, §IV).
"""

from typing import TYPE_CHECKING, ClassVar

from coterie_learning.forgetting import Forgetting
from coterie_learning.forgetting._reach import out_of_reach
from coterie_learning.kinds import Resources
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class Restart(Forgetting, frozen=True, tag="restart"):
    """Rounds continue from the newest stored version before the device's first update."""

    rebuilds: ClassVar[bool] = True

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """State on devices that derives from versions to be unlearned."""
        found = out_of_reach(plan)
        if found is not None:
            return found
        if plan.local.remembers or plan.local.trains_personal_model() or not plan.local.scope().is_sent:
            return _remembered(f"under local {plan.local.name} devices keep what they learned with earlier versions")
        own = plan.personal.rules(plan.local)
        if own is not None and own.starts_from == "personal model":
            return _remembered(f"under personal {plan.personal.name} devices train models of their own on")
        if plan.codec.feeds_back() and not plan.codec.exact:
            why = f"under codec {plan.codec.name} devices keep what it has lost of an update, to send it with the next"
            return _remembered(f"{why} (codec float32 loses nothing)")
        return None


def _remembered(why: str) -> Reason:
    return Reason("plan.cannot_restart", f"{why}, and would bring it back; choose forgetting replay or none")
