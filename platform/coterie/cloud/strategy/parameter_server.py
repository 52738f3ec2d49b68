"""Parameter servers: they keep the model between them, and change it with the gradients that workers send.

Li et al. 2014 (OSDI); bounded staleness is Ho et al. 2013 (NeurIPS); pieces of even size on each server, and transfers
by priority: Peng et al. 2019 (SOSP). Asynchronous steps gain where workers are not equally fast, and lose accuracy
where their samples differ; a bound gains nothing where one worker is always slow. More servers share the arithmetic of
updates and the memory of the optimiser; they gain nothing where one keeps up with its workers.
"""

from typing import Annotated, Literal

from msgspec import Meta

from coterie.cloud.strategy import Strategy
from coterie.cloud.strategy._workers import Workers

MOST_SERVERS = 16


class ParameterServer(Strategy, frozen=True, tag="parameter_server"):
    """Servers keep the model, divided among them, and change it with the gradients that workers send."""

    work = "coterie.cloud.parameter_server.coordinator:train_with_servers"
    member = "coterie.cloud.parameter_server.member:serve"

    workers: Workers = 2
    servers: Annotated[
        int,
        Meta(
            ge=1, le=MOST_SERVERS, description="processes that keep the model, each its part; beside those that train"
        ),
    ] = 1
    updates: Annotated[
        Literal["synchronous", "asynchronous", "bounded"],
        Meta(description="wait for all workers at each step; for none; or for those that are too far behind"),
    ] = "synchronous"
    staleness: Annotated[
        int, Meta(ge=0, le=1000, description="steps that a worker may be ahead of the slowest, where they are bounded")
    ] = 3
    transfers: Annotated[
        Literal["at_once", "priority"],
        Meta(
            description="what travels first: all gradients when the backward pass is over, or pieces of what the next "
            "forward pass needs first, while it computes"
        ),
    ] = "at_once"
    piece_kib: Annotated[
        int, Meta(ge=1, le=1_048_576, description="size of a piece in KiB: a server has so much of the model or more")
    ] = 512

    @property
    def count(self) -> int:
        return self.workers

    @property
    def compiles(self) -> bool:
        return self.transfers != "priority"

    @property
    def bound(self) -> int | None:
        """How many steps a worker may be ahead of the slowest; None: any number."""
        return self.staleness if self.updates == "bounded" else None
