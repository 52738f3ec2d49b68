"""Some parameters by their names, as the head alone or the last block (Yosinski et al. 2014, arXiv 1411.1792)."""

from typing import Annotated

from msgspec import Meta

from coterie.compile.recipe.trains import Pattern, Trains, matches


class Named(Trains, frozen=True, tag="named"):
    """Those that match a pattern; batch normalisation gathers statistics where its own names match."""

    names: Annotated[tuple[Pattern, ...], Meta(min_length=1, max_length=1000, description="patterns of names")]

    def trains(self, name: str) -> bool:
        return matches(name, self.names)
