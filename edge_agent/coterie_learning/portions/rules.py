"""Which part of its model a helper sends."""

from collections.abc import Sequence
from typing import Literal, Protocol

from coterie_learning.portions.rows import check_classes, row_specs
from coterie_learning.portions.units import unit_specs
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.errors import WireError

Portion = Literal["head", "head_and_units", "learner"]
"""Rows of the output layer; rows and the body units that they depend on; the whole model."""


class PortionRules(Protocol):
    """The rules for portions."""

    @property
    def portion(self) -> Portion:
        """Which part of its model a helper sends."""

    @property
    def share(self) -> float:
        """Share of body units, or of a forest's trees, in a portion."""


def portion_specs(rules: PortionRules, model: ModelSpec, classes: Sequence[int]) -> tuple[TensorSpec, ...]:
    """The tensors of a portion of `model` for `classes`, which are ascending.

    Raises WireError ``portion.unsupported`` or ``portion.unknown_class``.
    """
    check_classes(classes, model.classes)
    match rules.portion:
        case "head":
            return row_specs(model, classes)
        case "head_and_units":
            return unit_specs(model, classes, rules.share)
        case "learner":
            if model.statistics:
                raise WireError("portion.unsupported", "the model has running statistics, which no portion takes along")
            return model.parameters
