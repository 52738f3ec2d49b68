"""Synchronous rounds with over-selection, deadline and minimum count (Bonawitz et al. 2019, arXiv 1902.01046, §2.2)."""

import math
from typing import Annotated

from msgspec import Meta

from coterie_learning.pace import Decision, Pace, View
from coterie_wire.conditions import Reason


class Sync(Pace, frozen=True, tag="sync"):
    """Invites more devices than needed, takes the first updates that arrive, and continues without stragglers."""

    target_updates: Annotated[
        int, Meta(ge=1, le=1_000_000, description="updates wanted; with so many the round closes at once")
    ] = 10
    over_selection: Annotated[
        float, Meta(ge=1, le=10, description="devices invited for each update wanted, against drop-outs")
    ] = 1.3
    min_updates: Annotated[
        int, Meta(ge=1, le=1_000_000, description="updates, and devices to begin with, that a round needs at least")
    ] = 1
    deadline_s: Annotated[
        float, Meta(ge=1, le=30 * 86_400, description="seconds from opening to closing at the latest")
    ] = 600.0
    pause_s: Annotated[float, Meta(ge=0, le=30 * 86_400, description="seconds between one round and the next")] = 0.0
    absent_s: Annotated[
        float, Meta(ge=1, le=86_400, description="seconds of silence after which another device is invited instead")
    ] = 60.0

    def __post_init__(self) -> None:
        if self.min_updates > self.target_updates:
            raise ValueError(f"min_updates {self.min_updates} exceeds target_updates {self.target_updates}")

    def devices_needed(self) -> int:
        return self.min_updates

    def updates_wanted(self) -> int:
        return self.target_updates

    def decide(self, view: View) -> Decision:
        live, delivered, elapsed_s, is_open = view
        nobody_left = live == 0 and delivered >= self.min_updates
        if not is_open or delivered >= self.target_updates or nobody_left or elapsed_s >= self.deadline_s:
            return self._end(delivered)
        collecting = Reason("rounds.collecting", f"{delivered} of {self.target_updates} updates are in")
        # Rounded first: products such as 10 · 1.3 may be 13.000000000000002, and must not become 14.
        wanted = math.ceil(round(self.target_updates * self.over_selection, 6)) - live - delivered
        return Decision("invite", collecting, wanted) if wanted > 0 else Decision("wait", collecting)

    def _end(self, delivered: int) -> Decision:
        if delivered >= self.min_updates:
            return Decision("merge", Reason("rounds.closing", f"{delivered} updates are in and about to be merged"))
        sentence = f"needs {self.min_updates} updates, {delivered} came before the deadline"
        return Decision("close", Reason("rounds.too_few_updates", sentence))

    def deadline_after_s(self) -> float:
        return self.deadline_s

    def pause_after_s(self) -> float:
        return self.pause_s

    def absence_after_s(self) -> float:
        return self.absent_s
