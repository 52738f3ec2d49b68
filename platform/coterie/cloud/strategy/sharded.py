"""Sharded data parallelism: each worker keeps a share of every parameter, its gradient and the optimiser's memory.

Rajbhandari et al. 2020, "ZeRO" (SC, arXiv 1910.02054), stage 3; Zhao et al. 2023, "PyTorch FSDP" (VLDB, arXiv
2304.11277). A block's parameters are gathered for as long as it computes. It sends half as much again as
`data_parallel`, so it loses where a whole model has room in each worker; what is gathered takes room, too.
"""

from coterie.cloud.strategy import Strategy
from coterie.cloud.strategy._workers import Workers


class Sharded(Strategy, frozen=True, tag="sharded"):
    """Every worker keeps a share of the model and of the optimiser's memory, and computes a share of each batch."""

    work = "coterie.cloud.gang:train_by_gang"
    member = "coterie.cloud.sharded:train_rank"
    spreads = True

    workers: Workers = 2

    @property
    def count(self) -> int:
        return self.workers
