"""Distributed training: all samples are uploaded to servers that train one model together, each on its share.

Synchronous data-parallel training: Dean et al. 2012, "Large scale distributed deep networks". With a period of
more than one step, local SGD: Stich 2019, arXiv 1805.09767.
"""

from typing import Annotated, Literal

from msgspec import Meta

from coterie.simulation.baselines import Baseline


class Distributed(Baseline, frozen=True, tag="distributed"):
    """One model for everybody, trained by several servers."""

    servers: Annotated[int, Meta(ge=1, le=1024, description="how many train")] = 4
    exchange: Annotated[
        Literal["ring", "parameter_server"],
        Meta(description="a ring sends 2(n-1) models an exchange, n servers; a parameter server 2n"),
    ] = "ring"
    period: Annotated[int, Meta(ge=1, le=10_000, description="steps of each server between two exchanges")] = 1
    period_s: Annotated[
        float, Meta(ge=0, le=3650 * 86_400, description="seconds between two trainings; 0: as often as batches come")
    ] = 0.0
    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over what is new")] = 1
    learning_rate: Annotated[
        float, Meta(gt=0, le=100, description="step size; usually as many times one server's as there are servers")
    ] = 0.2

    def models_sent(self) -> int:
        """Models sent by all servers together in one exchange."""
        others = self.servers - 1
        return 2 * others if self.exchange == "ring" else 2 * self.servers * bool(others)
