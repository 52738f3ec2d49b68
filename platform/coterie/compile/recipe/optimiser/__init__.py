"""Choice `optimiser` of a recipe: how a gradient becomes a step. One module a kind; see `compile.optimisers`."""

from collections.abc import Sequence

from coterie_learning.kinds import Kind


class Optimiser(Kind, frozen=True):
    """What it remembers of each parameter begins as zeros and stays on the device."""

    def state(self) -> Sequence[str]:
        """Its state for each parameter, by role."""
        raise NotImplementedError

    def scalars(self) -> Sequence[str]:
        """The scalars that it takes beside the learning rate."""
        raise NotImplementedError

    def is_curved(self, name: str) -> bool:  # noqa: ARG002 - most know slopes alone
        """Whether the parameter `name` follows the loss's second derivatives by the output, not the first."""
        return False
