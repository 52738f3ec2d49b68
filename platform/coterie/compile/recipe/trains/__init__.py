"""Choice `trains` of a recipe: which parameters are trained and uploaded, and which are frozen. One module a kind."""

from fnmatch import fnmatchcase
from typing import Annotated

from msgspec import Meta

from coterie_learning.kinds import Kind

Pattern = Annotated[str, Meta(min_length=1, max_length=200)]
"""Of names of parameters, as a shell matches files: ``head.*``, ``encoder.layers.?.linear1.weight``."""


class Trains(Kind, frozen=True):
    """What is frozen is kept in int8 where it is a matrix or a kernel, the same in all versions, and never uploaded."""

    def trains(self, name: str) -> bool:
        """Whether the parameter or running statistic `name` is trained."""
        raise NotImplementedError

    def adapts(self, name: str) -> bool:  # noqa: ARG002 - most kinds adapt nothing
        """Whether the linear layer with the weight `name`, which is frozen, gets an adapter."""
        return False


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of `patterns` matches `name`."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
