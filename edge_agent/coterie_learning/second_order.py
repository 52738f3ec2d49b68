"""Models that are solved in closed form instead of by descent: which of their parameters are tables of sums.

A table is not used for prediction. A device adds the means of the loss's first or second derivatives to its elements,
and sends it like any update; a merge reads the mean over devices and writes the parameters that it solved for.
"""

from collections.abc import Iterable, Sequence

GRADIENTS, CURVATURES = "gradients", "curvatures"
"""The suffixes of the names of the two tables."""


def is_table(name: str, called: str) -> bool:
    """Whether the parameter `name` is a table with the suffix `called`."""
    return name.rpartition(".")[2] == called


def solved_models(names: Iterable[str]) -> Sequence[str]:
    """The prefixes of the names of a model's tables, e.g. ``""`` or ``"trees."``, one for each pair of tables."""
    known = set(names)
    begins = (name.removesuffix(GRADIENTS) for name in sorted(known) if is_table(name, GRADIENTS))
    return [begin for begin in begins if f"{begin}{CURVATURES}" in known]
