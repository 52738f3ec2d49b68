"""Slot `local`: how a device learns. One module a kind."""

from typing import Literal

import msgspec

from coterie_wire.kinds import Kind


class StepWeights(msgspec.Struct, frozen=True):
    """The scalars of one optimisation step, each an input of the train step graph."""

    learning_rate: float
    momentum: float = 0.0
    proximal_weight: float = 0.0
    distillation_weight: float = 0.0


class Scope(msgspec.Struct, frozen=True):
    """What of a model a device trains, and therefore uploads."""

    head: Literal["all", "seen"] = "all"
    """Every row of the output layer, or only those of the classes that the device has samples of."""
    body: Literal["trained", "frozen"] = "trained"
    """Whether the layers before the output layer are trained."""

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole model."""
        return self == WHOLE


WHOLE = Scope()


class Stopping(msgspec.Struct, frozen=True):
    """When training ends before its last epoch."""

    patience: int
    """Epochs without a lower loss on the samples held back after which it ends."""
    validation_share: float
    """Share of the device's samples that is held back."""


class Local(Kind, frozen=True):
    """How a device turns the parameters it received and its own samples into new parameters."""

    def epochs_wanted(self) -> int:
        """Passes over the device's samples in one round."""
        raise NotImplementedError

    def weights(self, step: int) -> StepWeights:
        """The scalars of optimisation step `step` (0-based) of a round."""
        raise NotImplementedError

    def scope(self) -> Scope:
        """What of the model is trained."""
        return WHOLE

    def stopping(self) -> Stopping | None:
        """When training stops early, keeping its best epoch; None: it goes on to the last epoch and keeps that."""
        return None

    def period_s(self) -> float | None:
        """Seconds back from now within which samples must have come to be learned from; None: all are."""
        return None

    def keeps_own(self) -> bool:
        """Whether the device uses the model that it trained until it trains again, rather than every new version."""
        return False

    def needs_teacher(self) -> bool:
        """Whether the device learns from the cloud model's probabilities too."""
        return False
