"""Pipeline parallelism: each worker has some layers, and parts of a batch follow one another through them.

Narayanan et al. 2019, "PipeDream" (SOSP), whose schedule 1F1B is flushed after each batch here; interleaved: Narayanan
et al. 2021 (SC, arXiv 2104.04473). Of w workers with m parts of a batch, each is idle for (w - 1)/(m + w - 1) of the
time at 1F1B, so it loses where parts are few, or so small that each costs more to begin than to compute.
"""

from typing import Annotated

from msgspec import Meta

from coterie.cloud.strategy import Splits, Strategy
from coterie.cloud.strategy._workers import Workers


class Pipeline(Strategy, frozen=True, tag="pipeline"):
    """Every worker has some layers of the model, and hands what they compute to the next."""

    work = "coterie.cloud.gang:train_by_gang"
    member = "coterie.cloud.pipeline:train_rank"
    spreads = True

    workers: Workers = 2
    microbatches: Annotated[
        int, Meta(ge=1, le=1024, description="parts of a batch; as many as workers at least, and a multiple of them")
    ] = 4
    stages_each: Annotated[
        int,
        Meta(ge=1, le=16, description="runs of layers that a worker has: 1 is schedule 1F1B, more is interleaved 1F1B"),
    ] = 1
    split_before: Annotated[
        tuple[str, ...],
        Meta(max_length=1023, description="modules with which stages begin, in order; none: stages of even size"),
    ] = ()

    @property
    def count(self) -> int:
        return self.workers

    @property
    def stages(self) -> int:
        """Runs of layers in all."""
        return self.workers * self.stages_each

    def __post_init__(self) -> None:
        if self.microbatches % self.workers:
            raise ValueError(f"{self.microbatches} microbatches are no multiple of {self.workers} workers")
        if self.split_before and len(self.split_before) != self.stages - 1:
            begun = f"{self.stages - 1} modules, not {len(self.split_before)}"
            raise ValueError(f"{self.stages} stages are split before {begun}")

    def misfit_of(self, splits: Splits) -> str | None:
        unknown = [name for name in self.split_before if not name or name not in splits.modules]
        if unknown:
            return f"it cannot be split before {unknown[0]!r}; {splits.describe()}"
        places = [splits.modules.index(name) for name in self.split_before]
        if places != sorted(set(places)):
            return f"its modules come in another order; {splits.describe()}"
        if len(splits.modules) < self.stages - 1:
            return f"it has no {self.stages} stages; {splits.describe()}"
        return None
