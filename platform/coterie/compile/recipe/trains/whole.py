"""All parameters that the module itself lets train."""

from coterie.compile.recipe.trains import Trains


class Whole(Trains, frozen=True, tag="all"):
    """Those with requires_grad."""

    def trains(self, name: str) -> bool:  # noqa: ARG002 - all do
        return True
