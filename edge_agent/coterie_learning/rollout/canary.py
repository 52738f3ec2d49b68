"""Canary release: some devices try a version; the others get it if it is no worse there than the champion.

There may be several phases, each with a larger share of devices, an observation time and a threshold of its own
(progressive delivery; Humble and Farley, Continuous Delivery, chapter 10).

Each device compares both versions on the same samples, so that differences between devices cancel out (a paired
comparison: Box, Hunter and Hunter, Statistics for Experimenters, section 3.2). All devices weigh equally, so that none
gains influence by claiming more data.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
from msgspec import Meta

from coterie_learning.kinds import Resources
from coterie_learning.rollout import CanaryEvidence, Rollout, Verdict
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

MOST_PHASES = 8
ROUNDING = 1e-9
"""Rounding error of means that are summed in another order."""

SHARE = Meta(gt=0, le=1)
THRESHOLD = Meta(ge=0, le=1)
WITHIN_S = Meta(ge=1, le=30 * 86_400)
HOLD_S = Meta(ge=0, le=30 * 86_400)
ABSENT_S = Meta(ge=0, le=30 * 86_400)


class Phase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A phase with a larger share; fields left out are as in the first phase."""

    share: Annotated[float, SHARE, Meta(description="share of the devices which try it by then")]
    threshold: Annotated[
        Annotated[float, THRESHOLD] | None,
        Meta(description="by how much its error may be larger; left out: as at first"),
    ] = None
    within_s: Annotated[
        Annotated[float, WITHIN_S] | None,
        Meta(description="seconds after which it is judged by what was told; left out: as at first"),
    ] = None
    hold_s: Annotated[
        Annotated[float, HOLD_S] | None, Meta(description="seconds that it lasts at least; left out: as at first")
    ] = None
    absent_s: Annotated[
        Annotated[float, ABSENT_S] | None,
        Meta(description="seconds that it waits for absent devices; left out: as at first"),
    ] = None


class Step(NamedTuple):
    """A phase with every value."""

    share: float
    threshold: float
    within_s: float
    hold_s: float
    absent_s: float

    def then(self, phase: Phase) -> "Step":
        """The step of `phase`, with fields left out taken from this one."""
        return self._replace(
            **{name: value for name, value in msgspec.structs.asdict(phase).items() if value is not None}
        )


class Canary(Rollout, frozen=True, tag="canary"):
    """A share of the devices tries a version; an increase of errors beyond a threshold rolls it back."""

    share: Annotated[
        float,
        SHARE,
        Meta(description="share of the devices which try it first"),
    ] = 0.1
    threshold: Annotated[
        float,
        THRESHOLD,
        Meta(description="by how much its error may be larger: share of all samples; of the loss where it is one"),
    ] = 0.02
    within_s: Annotated[
        float, WITHIN_S, Meta(description="seconds of a phase after which it is judged by what was told")
    ] = 3600.0
    hold_s: Annotated[float, HOLD_S, Meta(description="seconds that a phase lasts at least, if all have told, too")] = (
        0.0
    )
    absent_s: Annotated[
        float,
        ABSENT_S,
        Meta(
            description="seconds that a phase waits, beside its own time, while too few of its devices are there; "
            "0: it does not"
        ),
    ] = 86_400.0
    tag: Annotated[
        str, Meta(max_length=50, description="tag of the devices that the group is drawn from; blank: of all")
    ] = ""
    reports: Annotated[
        int, Meta(ge=1, le=1_000_000, description="devices of a phase that must have reported, at least")
    ] = 3
    shadow_within_s: Annotated[
        float,
        Meta(
            ge=0,
            le=30 * 86_400,
            description="seconds that it answers beside the champion, without being shown, before it is judged; 0: the "
            "group uses it",
        ),
    ] = 0.0
    phases: Annotated[
        tuple[Phase, ...],
        Meta(max_length=MOST_PHASES, description="larger shares that try it next, where it did no worse"),
    ] = ()

    def __post_init__(self) -> None:
        course = self.course()
        if any(later.share <= earlier.share for earlier, later in pairwise(course)):
            raise ValueError("each of phases must be a larger share than the one before, and than share")
        for place, one in enumerate(course):
            if one.hold_s > one.within_s:
                sentence = "hold_s must not be more than within_s, after which a phase is judged"
                raise ValueError(f"phase {place + 1}: {sentence}" if self.phases else sentence)

    def course(self) -> Sequence[Step]:
        """Its phases with all values; the first has the kind's own."""
        first = Step(self.share, self.threshold, self.within_s, self.hold_s, self.absent_s)
        return (first, *(first.then(phase) for phase in self.phases))

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        if not plan.merge.trains_cloud_model:
            return None
        sentence = "it tries one version at a time, and the merge publishes a cloud model and a device model for every "
        sentence += "group together; leave at_once and start roll-outs of versions by hand"
        return Reason("plan.needs_single_versions", sentence)

    def is_staged(self) -> bool:
        return True

    def group_tag(self) -> str:
        return self.tag

    def phase_count(self) -> int:
        return 1 + len(self.phases)

    def group_size(self, devices: int, phase: int = 0) -> int:
        share = self.course()[phase].share
        # Rounded first: products such as 0.1 · 30 may be 3.0000000000000004, and must not become 4.
        return min(devices, max(self.reports, math.ceil(round(share * devices, 6))))

    def reports_needed(self) -> int:
        return self.reports

    def patience_s(self, phase: int = 0) -> float:
        return self.course()[phase].within_s + self.shadow_within_s

    def absence_s(self, phase: int = 0) -> float:
        return self.course()[phase].absent_s

    def shadow_s(self) -> float:
        return self.shadow_within_s

    def verdict(self, standing: CanaryEvidence) -> Verdict:
        at = self.course()[standing.phase]
        is_over = standing.elapsed_s >= self.patience_s(standing.phase)
        if standing.lacks_devices() and standing.rested_s < at.absent_s:
            return "rest"
        if standing.reports < standing.needed:
            return "too_few_reports" if is_over else "wait"
        if standing.faults == standing.total_reports or standing.faults > at.threshold * standing.total_reports:
            return "unusable"
        if standing.excess > at.threshold + ROUNDING:
            return "worse"
        has_held = standing.reports >= standing.group and standing.elapsed_s >= at.hold_s
        return "pass" if is_over or has_held else "wait"
