"""Models that are solved, not descended: which of their parameters are tables of sums, and how these are called.

A table takes part in no prediction. A device adds to it the mean of the loss's first or second derivatives at each of
its places, and sends it as it sends any update; a merge reads the mean of all and writes what it solved for.
"""

from collections.abc import Iterable, Sequence

GRADIENTS, CURVATURES = "gradients", "curvatures"
"""The last parts of the names of the two tables."""


def is_table(name: str, called: str) -> bool:
    """Whether the parameter `name` is a table that is `called` so."""
    return name.rpartition(".")[2] == called


def solved_models(names: Iterable[str]) -> Sequence[str]:
    """What the names of a model's tables begin with, ``""`` or ``"trees."``: once for each pair of tables."""
    known = set(names)
    begins = (name.removesuffix(GRADIENTS) for name in sorted(known) if is_table(name, GRADIENTS))
    return [begin for begin in begins if f"{begin}{CURVATURES}" in known]
