"""What noise on updates does not cover, so that a plan which needs it to is refused."""

from typing import TYPE_CHECKING

from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


def uncovered(kind: str, plan: "Plan", model: ModelSpec | None) -> Reason | None:
    """What leaves devices under `plan` beside their updates, where privacy `kind` gives only these noise."""
    if plan.help.rules() is not None:
        detail = f"privacy {kind} covers updates, and help {plan.help.name} sends profiles and portions besides"
        return Reason("plan.not_covered", f"{detail}; take help none")
    if model is not None and model.statistics:
        detail = f"privacy {kind} does not cover running statistics, which leave the device as they are"
        return Reason("plan.not_covered", f"{detail}; take a model without batch normalisation")
    return None
