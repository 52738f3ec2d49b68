"""Data parallelism: each worker computes the gradient of its share of a batch, and a ring all-reduce sums them.

Li et al. 2020, "PyTorch distributed: experiences on accelerating data parallel training" (arXiv 2006.15704).
Hooks: half precision; PowerSGD, Vogels et al. 2019 (arXiv 1905.13727). It loses where a step's arithmetic takes less
time than the sum of its gradients: small models, many workers. Transfers by priority: ByteScheduler, Peng et al. 2019
(SOSP); they gain where a step's arithmetic takes about as long as its sums, and nothing where it takes far longer.
"""

from typing import Annotated, Literal

from msgspec import Meta

from coterie.cloud.strategy import Strategy
from coterie.cloud.strategy._workers import Workers


class DataParallel(Strategy, frozen=True, tag="data_parallel"):
    """Every worker has the model and a share of each batch; gradients are summed after each step."""

    work = "coterie.cloud.gang:train_by_gang"
    member = "coterie.cloud.data_parallel:train_rank"
    spreads = True

    workers: Workers = 2
    hook: Annotated[
        Literal["none", "fp16", "power_sgd"],
        Meta(description="how gradients travel: as they are, in half precision, or as matrices of low rank"),
    ] = "none"
    rank: Annotated[int, Meta(ge=1, le=64, description="of PowerSGD's matrices; more is more exact")] = 2
    warm_up_steps: Annotated[
        int, Meta(ge=2, le=1_000_000, description="steps that PowerSGD leaves gradients as they are, at the beginning")
    ] = 10
    transfers: Annotated[
        Literal["buckets", "priority"],
        Meta(
            description="what travels first: large buckets as the backward pass fills them, or pieces of what the next "
            "forward pass needs first, while it computes"
        ),
    ] = "buckets"
    piece_kib: Annotated[
        int, Meta(ge=1, le=1_048_576, description="size of a piece in KiB, where they travel by priority")
    ] = 512

    def __post_init__(self) -> None:
        if self.transfers == "priority" and self.hook != "none":
            raise ValueError(f"hook {self.hook} compresses buckets; by priority, gradients travel as they are")

    @property
    def count(self) -> int:
        return self.workers

    @property
    def compiles(self) -> bool:
        return self.transfers != "priority"
