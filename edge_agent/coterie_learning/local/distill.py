"""Colla's client update: L = λ_d·CE(y, p) + (1 - λ_d)·CE(q_cloud, p), no temperature (Lu et al. 2019, SEC, stage 3)."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie_learning.local import Local, Scope, StepScalars, Stopping

DAY_S = 86_400.0


class Distill(Local, frozen=True, tag="distill"):
    """Learns from the device's latest samples and from the cloud model's probabilities for them.

    With λ_d = 1 there is no teacher: the device fine-tunes its personal model, initially the first version received.
    """

    lambda_d: Annotated[
        float, Meta(ge=0, le=1, description="weight of the device's labels; the rest is the cloud model's")
    ] = 0.5
    learning_rate: Annotated[float, Meta(gt=0, le=100, description="step size")] = 0.1
    momentum: Annotated[float, Meta(ge=0, lt=1, description="share of the last step kept; 0 is none")] = 0.0
    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over the samples in one round, at most")] = 100
    patience: Annotated[
        int, Meta(ge=1, le=1000, description="epochs without a lower loss on the samples held back before it stops")
    ] = 20
    validation_share: Annotated[
        float,
        Meta(
            ge=0,
            lt=1,
            description="share of the samples that is held back to stop by; 0: all are learned from and stopped by",
        ),
    ] = 0.2
    period_days: Annotated[
        float, Meta(gt=0, le=3650, description="days back within which samples must have come to be learned from")
    ] = 20.0
    head: Annotated[
        Literal["all", "seen"],
        Meta(description="the output layer has all classes, or only those that the device has samples of"),
    ] = "seen"
    body: Annotated[
        Literal["trained", "frozen"], Meta(description="whether the layers before the output layer are trained")
    ] = "trained"

    def epochs_wanted(self) -> int:
        return self.epochs

    def step_scalars(self, step: int) -> StepScalars:  # noqa: ARG002 - every step weighs the same
        return StepScalars(
            learning_rate=self.learning_rate, momentum=self.momentum, distillation_weight=1 - self.lambda_d
        )

    def scope(self) -> Scope:
        return Scope(head=self.head, body=self.body)

    def stopping(self) -> Stopping:
        return Stopping(self.patience, self.validation_share)

    def period_s(self) -> float:
        return self.period_days * DAY_S

    def trains_personal_model(self) -> bool:
        return True

    def between_rounds(self) -> "Distill":
        """One epoch, from labels only: between rounds there is no teacher, and too few samples for early stopping."""
        return msgspec.structs.replace(self, lambda_d=1.0, epochs=1)

    def needs_teacher(self) -> bool:
        return self.lambda_d < 1
