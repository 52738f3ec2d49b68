"""No steps: the loss's first and second derivatives, summed in tables of the model, for merges that solve.

Which parameters are tables `coterie_learning.second_order` says; the plan's local is then `second_order`.
"""

from collections.abc import Sequence

from coterie.compile.recipe.optimiser import Optimiser
from coterie_learning.second_order import CURVATURES, is_table


class SecondOrder(Optimiser, frozen=True, tag="second_order"):
    """For boosted trees and Newton's method: whatever adds to a table enters the output, times nothing."""

    def state(self) -> Sequence[str]:
        return []

    def scalars(self) -> Sequence[str]:
        return []

    def is_curved(self, name: str) -> bool:
        return is_table(name, CURVATURES)
