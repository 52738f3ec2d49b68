"""Questions to a fleet whose answers are sums (federated analytics): only the sum of the devices' counts is read.

A question has *cells*: the classes of a model, the bins of a histogram, or words. A device adds integers to them whose
L1 norm, and therefore L2 norm, is at most the question's `sensitivity`: one vote for a bin or a word, or as many
samples as the question allows one device. Quantiles are computed from a histogram. Heavy hitters are words of a list
that is part of the question, which is exact, whereas a hashed sketch would add collisions to the noise.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, NamedTuple, get_args

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie_learning.privacy import Spend
from coterie_learning.secure_sum.graph import Adversary
from coterie_learning.secure_sum.terms import SumTerms
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.secure_sum import MOST_MEMBERS
from coterie_wire.structs import from_json, from_values

Int64 = NDArray[np.int64]
Quantity = Literal["samples", "train_step_s", "upload_s", "temperature_c", "cores", "memory_bytes"]
"""Quantities that a histogram may count."""
Property = Literal["machine", "agent", "charging", "network", "idle", "reason", "outcome"]
"""Properties whose words may be counted: ``reason`` is the first why the device does not train now, or ``none``;
``outcome`` how its latest assignment ended, or ``none``."""
Among = Literal["all", "failing", "waiting"]
"""Which devices count: all; those whose latest assignment failed; those with a reason not to train."""
MOST_CELLS = 4096
SUBJECTS: Mapping[str, str] = {
    "samples": "samples",
    "train_step_s": "speed",
    "upload_s": "speed",
    "temperature_c": "conditions",
    "cores": "hardware",
    "memory_bytes": "hardware",
    "machine": "hardware",
    "agent": "hardware",
    "charging": "conditions",
    "network": "conditions",
    "idle": "conditions",
    "reason": "problems",
    "outcome": "problems",
}
"""By quantity or property, the subject that the owner must agree to be asked about."""
NONE = "none"


class OwnFacts(NamedTuple):
    """A device's data about itself, which leave it only as counts in a sum."""

    class_counts: Sequence[int]
    """Samples of class 0, 1, …"""
    quantities: Mapping[Quantity, float | None]
    """None: unknown."""
    properties: Mapping[Property, str]
    is_failing: bool
    is_waiting: bool


class Classes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="classes"):
    """How many samples of each class there are."""

    classes: Annotated[int, Meta(ge=1, le=MOST_CELLS, description="classes 0 to one below it are counted")]
    most: Annotated[
        int, Meta(ge=1, le=10_000, description="samples that one device counts at most; of more, their shares of these")
    ] = 100

    @property
    def subject(self) -> str:
        return "classes"

    @property
    def sensitivity(self) -> int:
        return self.most

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(str(label) for label in range(self.classes))

    def counted(self, facts: OwnFacts) -> Int64:
        """[classes]. More samples than `most` are scaled down in proportion, rounded so that they add up to `most`."""
        counts = np.zeros(self.classes, np.int64)
        known = list(facts.class_counts)[: self.classes]
        counts[: len(known)] = known
        total = int(counts.sum())
        if total <= self.most:
            return counts
        found: Int64 = np.diff(np.cumsum(counts) * self.most // total, prepend=0)
        return found


class Histogram(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="histogram"):
    """The bin of a quantity on each device; quantiles are computed from it."""

    of: Annotated[Quantity, Meta(description="what each device knows of itself")]
    edges: Annotated[
        tuple[float, ...],
        Meta(min_length=1, max_length=MOST_CELLS - 2, description="ascending; a bin begins at its lower edge"),
    ]
    sensitivity: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not all(low < high for low, high in pairwise(self.edges)):
            raise ValueError("edges are not ascending")

    @property
    def subject(self) -> str:
        return SUBJECTS[self.of]

    @property
    def labels(self) -> tuple[str, ...]:
        bounds = [f"{edge:g}" for edge in self.edges]
        between = (f"{low} to {high}" for low, high in pairwise(bounds))
        return (f"below {bounds[0]}", *between, f"{bounds[-1]} or more", "not known")

    def counted(self, facts: OwnFacts) -> Int64:
        """[edges + 2]: below the first edge, the bins, from the last edge on, and unknown."""
        value = facts.quantities.get(self.of)
        bins = len(self.edges) + 1
        return _one_of(bins + 1, bins if value is None or math.isnan(value) else bisect_right(self.edges, value))


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="words"):
    """Which word of a list applies to each device: the most frequent are the heavy hitters."""

    of: Annotated[Property, Meta(description="what each device knows of itself")]
    words: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=100)], ...],
        Meta(min_length=1, max_length=MOST_CELLS - 1, description="candidates; others are counted together"),
    ]
    sensitivity: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if len(set(self.words)) < len(self.words):
            raise ValueError("a word is there twice")

    @property
    def subject(self) -> str:
        return SUBJECTS[self.of]

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.words, "other")

    def counted(self, facts: OwnFacts) -> Int64:
        """[words + 1], the last for others."""
        word = facts.properties.get(self.of, NONE)
        return _one_of(len(self.words) + 1, self.words.index(word) if word in self.words else len(self.words))


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is counted, and the guarantees of the sum, which each device checks."""

    count: Classes | Histogram | Words
    among: Annotated[Among, Meta(description="devices that are counted; the others add nothing to any cell")] = "all"
    noise_multiplier: Annotated[
        Annotated[float, Meta(gt=0, le=1e3)] | None,
        Meta(description="z: standard deviation of the noise on each cell at least, in sensitivities; none: no noise"),
    ] = None
    min_devices: Annotated[int, Meta(ge=3, le=MOST_MEMBERS, description="devices that are summed at least")] = 10
    corrupted: Annotated[
        float, Meta(ge=0, le=0.45, description="share of the devices that may conspire with the platform")
    ] = 0.1
    dropped: Annotated[float, Meta(ge=0, le=0.45, description="share of the devices that may be lost on the way")] = 0.2
    adversary: Annotated[Adversary, Meta(description="whether the platform may tell devices different things")] = (
        "curious"
    )
    step_s: Annotated[float, Meta(ge=1, le=3600, description="seconds that a step waits for devices at most")] = 30.0

    @property
    def terms(self) -> SumTerms:
        """The guarantees of the sum."""
        return SumTerms(self.min_devices, self.corrupted, self.dropped, self.adversary)

    @property
    def subjects(self) -> frozenset[str]:
        """The subjects that an owner must have agreed to be asked about."""
        return frozenset({self.count.subject} | ({"problems"} if self.among != "all" else set()))

    def spend(self) -> Spend | None:
        """The privacy cost of the answer to each device in it; None: there is no guarantee."""
        return None if self.noise_multiplier is None else Spend(self.noise_multiplier)

    def counted(self, facts: OwnFacts) -> Int64:
        """What a device adds to each cell; its L1 norm is at most `count.sensitivity`."""
        counts = self.count.counted(facts)
        is_among = {"all": True, "failing": facts.is_failing, "waiting": facts.is_waiting}[self.among]
        return counts if is_among else np.zeros_like(counts)


assert set(SUBJECTS) == {*get_args(Quantity), *get_args(Property)}


def parse_question(raw: object) -> Question:
    """Parse a question from JSON or its values. Raises WireError ``question.invalid``."""
    try:
        if isinstance(raw, bytes | memoryview | msgspec.Raw):
            return from_json(raw, Question)
        return from_values(raw, Question)
    except UNREADABLE as error:
        raise WireError("question.invalid", f"no question that this side knows: {error}") from error


def quantile(edges: Sequence[float], counts: Sequence[float], share: float) -> float | None:
    """The quantile `share` of a histogram; None: the histogram is empty, or the quantile is beyond its edges.

    `counts` are those of the cells of a `Histogram`; the last, for unknown values, is ignored. Inside a bin the
    quantile is interpolated; negative noisy counts are taken as 0.
    """
    known = [max(0.0, count) for count in counts[:-1]]
    wanted = share * sum(known)
    reached = known[0]
    if wanted <= 0 or wanted < reached:
        return None
    for (low, high), count in zip(pairwise(edges), known[1:-1], strict=True):
        if count > 0 and reached + count >= wanted:
            return low + (high - low) * (wanted - reached) / count
        reached += count
    return None


def _one_of(cells: int, place: int) -> Int64:
    found = np.zeros(cells, np.int64)
    found[place] = 1
    return found
