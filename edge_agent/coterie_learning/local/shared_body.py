"""A shared body and personal layers: FedPer and FedRep.

FedPer (Arivazhagan et al. 2019, arXiv 1912.00818, Algorithm 1) trains both together. FedRep (Collins et al. 2021, arXiv
2102.07089, Algorithm 1) first trains the personal layers on the received body, then the body under the new layers. In
both, only the body is uploaded.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta

from coterie_learning.kinds import Resources
from coterie_learning.local import GraphNeeds, Layers, Local, Scope, StepScalars
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class SharedBody(Local, frozen=True, tag="shared_body"):
    """Personal layers stay on the device from round to round, on top of a body that all devices share.

    They are never uploaded: every version contains those of the first, from which new devices start. Running
    statistics, if the model has some, are sent as under every kind.
    """

    personal: Annotated[
        str,
        Meta(
            pattern=r"\S",
            max_length=2000,
            description="what stays on the device: head, the output layer, or patterns of names, by spaces",
        ),
    ] = "head"
    head_epochs: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description="passes that train only what stays, before those that then train only the body, as in FedRep;"
            " 0: all passes train both, as in FedPer",
        ),
    ] = 0
    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over the device's samples that train the body")] = 1
    learning_rate: Annotated[float, Meta(gt=0, le=100, description="step size")] = 0.1
    since: ClassVar[str] = "0.2"

    def epochs_wanted(self) -> int:
        return self.head_epochs + self.epochs

    def step_scalars(self, step: int) -> StepScalars:  # noqa: ARG002 - every step weighs the same
        return StepScalars(learning_rate=self.learning_rate)

    def needs(self) -> GraphNeeds:
        # The state of an adaptive optimiser would change in the epochs in which its parameters are frozen.
        return super().needs()._replace(plain_descent=self.head_epochs > 0)

    def scope(self) -> Scope:
        return Scope(personal=tuple(self.personal.split()))

    def frozen_layers(self, step: int, epoch: int) -> Layers | None:
        if not self.head_epochs:
            return None
        return "shared" if step < self.head_epochs * epoch else "personal"

    def trains_personal_model(self) -> bool:
        return True

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:
        """Kinds that need devices' whole models, or versions that are complete models."""
        whole = _needs_whole(plan)
        if whole is not None:
            return Reason("plan.layers_stay", f"{whole}, and under local {self.name} layers stay on the devices")
        reason = super().misfit(plan, model, resources)
        if reason is not None or model is None:
            return reason
        kept, parameters = self.scope().personal_layers(model), {spec.name for spec in model.parameters}
        if not kept:
            return Reason(
                "plan.no_such_layers", f"no parameter of the model is called {self.personal}; choose others that stay"
            )
        if kept == parameters:
            return Reason(
                "plan.nothing_shared", f"{self.personal} are all of the model's parameters, and none would be shared"
            )
        return None


def _needs_whole(plan: "Plan") -> str | None:
    if plan.merge.reads == "models":
        return f"merge {plan.merge.name} runs each device's model"
    if plan.groups.divides:
        return f"groups {plan.groups.name} compares devices' models"
    if plan.help.rules() is not None:
        return f"help {plan.help.name} sends parts of devices' models, the output layer among them"
    if plan.rollout.is_staged():
        return f"rollout {plan.rollout.name} measures versions"
    if not plan.pace.holds_rounds():
        return f"pace {plan.pace.name} shares nothing"
    return None
