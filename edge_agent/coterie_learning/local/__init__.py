"""Slot `local`: how a device learns. One module a kind."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

import msgspec

from coterie_learning.kinds import Kind
from coterie_wire.errors import WireError

STEP = "step"
"""The scalar that counts the steps done before; no weight of a plan."""


class StepScalars(msgspec.Struct, frozen=True):
    """The scalars of one optimisation step, each an input of the train step graphs that have it."""

    learning_rate: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    clip_norm: float = math.inf
    """Longest gradient that is followed, its L2 norm over all parameters."""
    proximal_weight: float = 0.0
    distillation_weight: float = 0.0

    def scalars(self, names: Sequence[str], *, step: int) -> Mapping[str, float]:
        """The scalars `names` of optimisation step `step` (0-based).

        Raises WireError ``plan.does_not_fit`` where a weight that matters is not among them.
        """
        self.check(names)
        return {name: float(step) if name == STEP else getattr(self, name) for name in names}

    def check(self, names: Sequence[str]) -> None:
        """Raises WireError ``plan.does_not_fit`` where a weight that matters is not among the scalars `names`."""
        for name, default in _defaults():
            given = getattr(self, name)
            if name not in names and given != default:
                raise WireError(
                    "plan.does_not_fit", f"it asks for {name} {given:g}, but the model was compiled without"
                )


@cache
def _defaults() -> Sequence[tuple[str, object]]:
    """Of the weights, by name; every step asks, and reading a struct.s fields is slow."""
    return [(field.name, field.default) for field in msgspec.structs.fields(StepScalars)]


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

    def weights(self, step: int) -> StepScalars:
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

    def is_personal(self) -> bool:
        """Whether the device goes on with the model that it trained, rather than with each version that it receives.

        The output rows of classes that are new to it begin as the version has them.
        """
        return False

    def alone(self) -> "Local":
        """How the device learns a batch of new samples outside of rounds."""
        return self

    def needs_teacher(self) -> bool:
        """Whether the device learns from the cloud model's probabilities too."""
        return False
