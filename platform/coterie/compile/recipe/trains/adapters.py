"""Low-rank adapters on a frozen model: W x + (alpha / rank)·B A x (Hu et al. 2022, arXiv 2106.09685, section 4.1)."""

from typing import Annotated

from msgspec import Meta

from coterie.compile.recipe.trains import Pattern, Trains, matches


class Adapters(Trains, frozen=True, tag="adapters"):
    """A is drawn at random and B is zero, so that training begins with the model as it was given."""

    weights: Annotated[
        tuple[Pattern, ...],
        Meta(min_length=1, max_length=1000, description="patterns of linear layers' weights that get an adapter"),
    ] = ("*",)
    rank: Annotated[int, Meta(ge=1, le=1024, description="columns of A")] = 8
    alpha: Annotated[float, Meta(gt=0, le=1e6, description="weight of what adapters add, times the rank")] = 16.0
    names: Annotated[
        tuple[Pattern, ...], Meta(max_length=1000, description="patterns of names: parameters that are trained as well")
    ] = ()

    def trains(self, name: str) -> bool:
        return matches(name, self.names)

    def adapts(self, name: str) -> bool:
        return matches(name, self.weights) and not self.trains(name)
