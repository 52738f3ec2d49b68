"""Slot `local`: how a device learns. One module a kind."""

import msgspec

from coterie_wire.kinds import Kind


class StepWeights(msgspec.Struct, frozen=True):
    """The scalars of one optimisation step, each an input of the train step graph."""

    learning_rate: float
    momentum: float = 0.0
    proximal_weight: float = 0.0
    distillation_weight: float = 0.0


class Local(Kind, frozen=True):
    """How a device turns the parameters it received and its own samples into new parameters."""

    def epochs_wanted(self) -> int:
        """Passes over the device's samples in one round."""
        raise NotImplementedError

    def weights(self, step: int) -> StepWeights:
        """The scalars of optimisation step `step` (0-based) of a round."""
        raise NotImplementedError
