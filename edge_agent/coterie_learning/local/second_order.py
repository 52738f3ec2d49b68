"""Sums of first and second derivatives instead of steps, for merges that solve: boosted trees, Newton's method.

The device's half of federated histogram boosting and of federated Newton: one pass over the samples, each batch
weighted by its share of them, writes the means of all derivatives to the tables that `coterie_learning.second_order`
names, and leaves everything else as received.
"""

from typing import TYPE_CHECKING, ClassVar

from coterie_learning.kinds import Resources
from coterie_learning.local import Local, StepScalars
from coterie_learning.second_order import solved_models
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class SecondOrder(Local, frozen=True, tag="second_order"):
    """One pass over the device's own samples; only the tables of the model change."""

    since: ClassVar[str] = "0.2"
    half_of: ClassVar[str | None] = "solving by second-order sums"
    trains: ClassVar[bool] = False

    def epochs_wanted(self) -> int:
        return 1

    def step_scalars(self, step: int) -> StepScalars:  # noqa: ARG002 - every sample weighs the same
        return StepScalars(learning_rate=1.0)

    def batch_share(self, samples: int, of: int) -> float:
        return samples / of

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:
        """Kinds that need local optimisation steps, or mix sums of different versions."""
        if (own := _needs_steps(plan)) is not None:
            return Reason("plan.needs_steps", f"local {self.name} only sums, and the merge solves; {own}")
        if plan.pace.staleness_allowed() is not None:
            detail = f"under local {self.name} sums are of one version, and pace {plan.pace.name} merges stale ones"
            return Reason("plan.needs_one_base", f"{detail}; take pace sync")
        if plan.codec.coarse:
            detail = f"codec {plan.codec.name} sends later what it left out of a sum, and then the sum is another"
            return Reason("plan.too_coarse", f"{detail}; take float32, int8 or int4")
        if model is not None and not solved_models(spec.name for spec in model.parameters):
            detail = "the model has no tables of gradients and curvatures; take local sgd, or a model that is solved"
            return Reason("plan.needs_tables", detail)
        if model is not None and model.optimiser_state:
            detail = (
                "the model was submitted with an optimiser that takes steps, so that nothing is summed in its tables"
            )
            return Reason("plan.takes_steps", f"{detail}; submit it with the recipe's optimiser second_order")
        return super().misfit(plan, model, resources)


def _needs_steps(plan: "Plan") -> str | None:
    if plan.personal.rules(plan.local) is not None:
        return "take personal none"
    if plan.help.rules() is not None:
        return "take help none"
    if not plan.pace.holds_rounds():
        return "take pace sync"
    return None if plan.topology.meeting_rules() is None else "take topology star or supernodes"
