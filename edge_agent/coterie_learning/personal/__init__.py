"""Slot `personal`: does a device have a personal model beside the version, and how is it trained? One module a kind.

A kind provides the rules; the procedure is the same for every kind (`coterie_learning.client.personal`): a device
trains, holds samples out, and uses the personal model only where it is not worse on these.
"""

from typing import TYPE_CHECKING, Literal, NamedTuple

from coterie_learning.kinds import Kind, Resources
from coterie_learning.local import ANCHOR, GRADIENT_RATE, GraphNeeds, Local, StepScalars
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class PersonalRules(NamedTuple):
    """How a device trains its personal model."""

    epochs: int
    """Most epochs over its samples."""
    patience: int
    """Training ends after so many epochs without a lower loss on the samples held out."""
    scalars: StepScalars
    """Scalars of every step."""
    starts_from: Literal["version", "personal model"]
    """Whether training starts from the version or from the personal model, once there is one."""
    again_share: float
    """Share of the samples that must be new for another training under the same version."""
    steps: int | None = None
    """Most steps; None: those of all epochs."""

    def needs(self) -> GraphNeeds:
        """What the train step graph must have."""
        return GraphNeeds(self.scalars.needed(), frozenset({ANCHOR} if self.scalars.proximal_weight else ()))


class Personal(Kind, frozen=True):
    """Whether a device has a personal model."""

    def rules(self, local: Local) -> PersonalRules | None:  # noqa: ARG002
        """How the personal model is trained, where rounds train by `local`; None: there is none."""
        return None

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """Kinds that already train a personal model, or what the graph lacks."""
        rules = self.rules(plan.local)
        if rules is None:
            return None
        other = _also_personal(plan)
        if other is not None:
            return Reason("plan.two_personal_models", f"{other}; choose personal none")
        if rules.scalars.learning_rate == GRADIENT_RATE:
            sentence = (
                f"local {plan.local.name} has no step size that a personal model could be trained with; choose one"
            )
            return Reason("plan.needs_learning_rate", sentence)
        if model is None:
            return None
        try:
            rules.needs().check(model)
        except WireError as error:
            return Reason(error.code, error.detail)
        return None


def _also_personal(plan: "Plan") -> str | None:
    if plan.local.trains_personal_model():
        return f"under local {plan.local.name} the rounds themselves train the personal model"
    if plan.help.rules() is not None:
        return f"under help {plan.help.name} devices train their personal models batch by batch, to see when one fails"
    if not plan.pace.holds_rounds():
        return f"under pace {plan.pace.name} each device trains a model of its own, and nothing else is trained"
    return None
