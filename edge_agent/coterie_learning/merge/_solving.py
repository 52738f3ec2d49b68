"""Shared by merges that solve for a model from the sums of its tables."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from coterie_learning.kinds import Resources
from coterie_learning.merge import Aggregate, Finished, Float64, Merge, Reads, ServerState
from coterie_learning.second_order import CURVATURES, GRADIENTS, solved_models
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.tensors import Float32, Tensors

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

MOST_NUMBERS = 1 << 20
"""Largest size of a model that is solved: the whole model is in memory several times."""


class Solving(Merge, frozen=True):
    """Reads the tables' means over all samples; the rest of the model is taken from the version."""

    reads: ClassVar[Reads] = "sums"
    whole: ClassVar[bool] = True
    since: ClassVar[str] = "0.2"
    half_of: ClassVar[str | None] = "solving by second-order sums"
    takes: ClassVar[frozenset[str]]
    """Names of the parameters that it solves for, beside the tables."""

    def counted(self, samples: Sequence[int]) -> Sequence[int]:
        return samples

    def solve(self, model: Tensors, gradients: Float64, curvatures: Float64) -> Mapping[str, Float32 | Float64]:
        """The parameters of `model` that change, from the means of its tables, in their shapes."""
        raise NotImplementedError

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        """Solve each of the models that `base` has tables for; its tables stay as they were received."""
        found: dict[str, Float32 | Float64] = dict(base)
        for begin in solved_models(base):
            named = {name.removeprefix(begin): tensor for name, tensor in base.items() if name.startswith(begin)}
            if self.takes <= named.keys():
                means = (aggregate[f"{begin}{table}"] for table in (GRADIENTS, CURVATURES))
                found.update({f"{begin}{name}": tensor for name, tensor in self.solve(named, *means).items()})
        return Finished(found, state)

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """Models that it cannot solve, or that are too large."""
        if model is None:
            return None
        names = {spec.name for spec in model.parameters}
        if not any({f"{begin}{name}" for name in self.takes} <= names for begin in solved_models(names)):
            detail = f"merge {self.name} solves for {', '.join(sorted(self.takes))} by tables, which the model lacks"
            return Reason("plan.needs_tables", detail)
        if (numbers := sum(math.prod(spec.shape) for spec in model.parameters)) > MOST_NUMBERS:
            detail = f"the model has {numbers} numbers, and merge {self.name} solves for {MOST_NUMBERS} at most"
            return Reason("plan.too_large", f"{detail}; take fewer bins, levels, trees or columns")
        return None
