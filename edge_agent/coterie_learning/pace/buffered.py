"""Asynchronous rounds with buffered aggregation: FedBuff (Nguyen et al. 2022, arXiv 2106.06639, Algorithm 1).

A device gets an assignment as soon as it is free, based on the newest version. K updates make a version, whatever
versions they are differences from: w + η·(1/K)·Σ s(τ)·Δ, where the staleness τ is the number of versions by which an
update's base is older than w, and s(τ) = (1 + τ)^-1/2 (§5). The sum is divided by K, not by Σ s(τ): stale updates make
a smaller step.
"""

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from coterie_learning.kinds import Resources
from coterie_learning.pace import FULL_WEIGHT, Decision, Pace, View
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class Buffered(Pace, frozen=True, tag="buffered"):
    """Keeps a number of devices training, and merges when the buffer is full; no device waits for another."""

    since: ClassVar[str] = "0.2"

    buffer: Annotated[int, Meta(ge=1, le=5_000, description="updates of different devices that make a version (K)")] = (
        10
    )
    at_work: Annotated[
        int, Meta(ge=1, le=1_000_000, description="devices that work on assignments at the same time, at most")
    ] = 20
    max_staleness: Annotated[
        int, Meta(ge=0, le=1_000, description="versions by which the base of an update may be older than its merge's")
    ] = 20
    staleness: Annotated[
        Literal["sqrt", "none"],
        Meta(
            description="weight of an update whose base is t versions older: sqrt: (1 + t)^-1/2 of a fresh one's; "
            "none: the same"
        ),
    ] = "sqrt"
    deadline_s: Annotated[
        float,
        Meta(
            ge=1,
            le=30 * 86_400,
            description="seconds that a device has for its update, and after which a buffer is merged as it is",
        ),
    ] = 3600.0
    absent_s: Annotated[
        float, Meta(ge=1, le=86_400, description="seconds of silence after which another device is asked instead")
    ] = 60.0

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        if plan.groups.divides:
            return Reason(
                "plan.needs_one_lineage",
                "groups are made of the models of devices that began with the same version; leave groups at one, "
                "or take pace sync",
            )
        if plan.merge.reads == "models":
            return Reason(
                "plan.needs_sums",
                f"merge {plan.merge.name} compares models of devices that began with the same version; take a merge "
                "of sums, or pace sync",
            )
        if plan.merge.reads != "sums" and self.staleness != "none":
            return Reason(
                "plan.needs_sums",
                f"merge {plan.merge.name} gives every update the same weight, so that stale ones cannot weigh less; "
                "take staleness none, a merge of sums, or pace sync",
            )
        return None

    def devices_needed(self) -> int:
        return 1

    def updates_wanted(self) -> int:
        return self.buffer

    def staleness_allowed(self) -> int | None:
        return self.max_staleness

    def discount(self, staleness: int) -> int:
        if staleness > self.max_staleness:
            return 0
        # In integers, so that every machine rounds it alike.
        return FULL_WEIGHT if self.staleness == "none" else math.isqrt(FULL_WEIGHT**2 // (1 + staleness))

    def decide(self, view: View) -> Decision:
        live, delivered, elapsed_s, is_open = view
        if not is_open or delivered >= self.buffer or elapsed_s >= self.deadline_s:
            return self._end(delivered)
        collecting = Reason("rounds.collecting", f"{delivered} of {self.buffer} updates are in")
        wanted = self.at_work - live
        return Decision("invite", collecting, wanted) if wanted > 0 else Decision("wait", collecting)

    def _end(self, delivered: int) -> Decision:
        if delivered:
            return Decision("merge", Reason("rounds.closing", f"{delivered} updates are in and about to be merged"))
        return Decision("close", Reason("rounds.too_few_updates", "no update came before the deadline"))

    def deadline_after_s(self) -> float:
        return self.deadline_s

    def pause_after_s(self) -> float:
        return 0.0

    def absence_after_s(self) -> float:
        return self.absent_s
