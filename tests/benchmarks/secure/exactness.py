"""Whether the sum of those who were not lost is the plain sum of their vectors, bit for bit; else why there is none."""

import time
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from coterie_learning.secure_sum import recovery
from coterie_learning.secure_sum.terms import SumTerms
from coterie_learning.secure_sum.vector import Layout
from coterie_wire.errors import WireError
from tests.benchmarks.report import Figure
from tests.coterie_learning.secure_sum.session import collect, plain_sum, unmasked

LAYOUT = Layout(length=1_000, bits=16, tail=20)
STEPS = ("before_sharing", "before_vector", "before_revealing")
Lost = Mapping[str, Collection[int]]


class Case(NamedTuple):
    """How many take part, and which share of them is lost at which steps."""

    members: int
    share: float
    steps: tuple[str, ...]

    @property
    def terms(self) -> SumTerms:
        """A tenth may conspire and three tenths be lost; of ten, whose neighbours are all others, nobody conspires."""
        return SumTerms(max(2, self.members // 3), 0.0 if self.members < 20 else 0.1, 0.3, "curious")

    @property
    def lost(self) -> Lost:
        """At each step others."""
        each = round(self.share * self.members)
        return {step: range(place * each, (place + 1) * each) for place, step in enumerate(self.steps)}

    def __str__(self) -> str:
        where = ", ".join(step.replace("_", " ") for step in self.steps) or "nowhere"
        return f"{self.members} devices, {self.share:.0%} lost {where}"


CASES = [
    case
    for members in (10, 100, 1_000)
    for case in (
        Case(members, 0.0, ()),
        *(Case(members, share, (step,)) for share in (0.1, 0.3) for step in STEPS),
        Case(members, 0.1, STEPS),
        Case(members, 0.3, STEPS),
    )
]


def figures() -> Iterator[Figure]:
    for case in CASES:
        begun = time.process_time()
        try:
            found = collect(case.members, LAYOUT, case.terms, **case.lost)
            recovered, plain = unmasked(found, LAYOUT, case.terms), plain_sum(found)
        except WireError as error:
            yield Figure(str(case), f"abandoned: {error.code}", 0, "sums")
            continue
        same = np.array_equal(recovered.numbers, plain.numbers) and np.array_equal(recovered.tail, plain.tail)
        yield Figure(str(case), "numbers that are those of the plain sum", 100.0 * same, "%", against="target 100 %")
        yield Figure(str(case), "all that its members and the platform did", time.process_time() - begun, "s of a core")
        if case.members == 1_000:
            begun = time.process_time()
            lying = recovery.recover(
                found.found, case.terms, shared=found.shared, survivors=found.survivors, revealed=found.revealed
            ).masks
            spent = time.process_time() - begun
            yield Figure(str(case), f"shares joined, {len(lying):,} masks found", spent, "s of a core")
