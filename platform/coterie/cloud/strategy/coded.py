"""Gradient coding: each worker computes more than its share, and any n - s of them give the exact gradient.

Tandon, Lei, Dimakis, Karampatziakis 2017, "Gradient coding: avoiding stragglers in distributed learning" (ICML, PMLR
70:3368): fractional repetition (section 4.1) and cyclic repetition (algorithm 2). It costs s + 1 times the arithmetic,
and loses where no worker is late.
"""

from typing import Annotated, Literal

from msgspec import Meta

from coterie.cloud.gradient_code import GradientCode, cyclic_code, repetition_code
from coterie.cloud.strategy import Strategy
from coterie.cloud.strategy._workers import MOST_WORKERS, Workers


class Coded(Strategy, frozen=True, tag="coded"):
    """Workers send sums of gradients of overlapping shares; a step waits for all but the slowest of them."""

    work = "coterie.cloud.exchanged:train_synchronously"
    member = "coterie.cloud.exchange.worker:serve_gradients"

    workers: Workers = 4
    stragglers: Annotated[
        int, Meta(ge=0, le=MOST_WORKERS - 1, description="workers that a step does without; fewer than there are")
    ] = 1
    code: Annotated[
        Literal["repetition", "cyclic"],
        Meta(description="groups of workers with the same shares, where they divide evenly; or shares in a circle"),
    ] = "repetition"

    @property
    def count(self) -> int:
        return self.workers

    def __post_init__(self) -> None:
        if self.stragglers >= self.workers:
            raise ValueError(f"{self.workers} workers cannot do without {self.stragglers}; give fewer stragglers")
        if self.code == "repetition" and self.workers % (self.stragglers + 1):
            groups = f"groups of {self.stragglers + 1}, which tolerate {self.stragglers} stragglers"
            raise ValueError(f"{self.workers} workers do not divide into {groups}; take code cyclic")

    def gradient_code(self, seed: int) -> GradientCode:
        """The code: which worker computes which shares, and how the gradient is decoded from the replies."""
        if self.code == "repetition":
            return repetition_code(self.workers, self.stragglers)
        return cyclic_code(self.workers, self.stragglers, seed)
