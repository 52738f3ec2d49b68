"""A parameter server: workers fetch the model, send gradients of their shares, and the server changes the model.

Li et al. 2014 (OSDI); bounded staleness is Ho et al. 2013 (NeurIPS). Asynchronous steps gain where workers are not
equally fast, and lose accuracy where their samples differ; a bound gains nothing where one worker is always slow.
"""

from typing import Annotated, Literal

from msgspec import Meta

from coterie.cloud.gradient_code import GradientCode, plain_code
from coterie.cloud.strategy import Strategy
from coterie.cloud.strategy._workers import Workers


class ParameterServer(Strategy, frozen=True, tag="parameter_server"):
    """The job's first process keeps the model, and changes it with the gradients that workers send."""

    work = "coterie.cloud.exchanged:train_with_server"
    member = "coterie.cloud.exchange.worker:serve_gradients"

    workers: Workers = 2
    updates: Annotated[
        Literal["synchronous", "asynchronous", "bounded"],
        Meta(description="wait for all workers at each step; for none; or for those that are too far behind"),
    ] = "synchronous"
    staleness: Annotated[
        int, Meta(ge=0, le=1000, description="steps that a worker may be ahead of the slowest, where they are bounded")
    ] = 3

    @property
    def count(self) -> int:
        return self.workers

    @property
    def bound(self) -> int | None:
        """How many steps a worker may be ahead of the slowest; None: any number."""
        return self.staleness if self.updates == "bounded" else None

    def gradient_code(self, seed: int) -> GradientCode:  # noqa: ARG002 - as of a strategy whose code is drawn
        """Each worker computes its own share."""
        return plain_code(self.workers)
