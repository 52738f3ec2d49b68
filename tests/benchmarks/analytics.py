"""Questions to a fleet: the error of an answer against theory, whom it still finds, and what it costs a device.

Counts, noise, shares, masks and recovery are those of production, in one process without a network. Times are of one
core's processor time.
"""

import time
from collections.abc import Iterator

import msgspec
import numpy as np

from coterie.privacy.accounting import most_of
from coterie_learning.answers import Encoding, FleetAnswer
from coterie_learning.question import Classes, Histogram, OwnFacts, Question, Words
from coterie_learning.secure_sum.vector import Vector
from tests.benchmarks.report import Figure
from tests.coterie_learning.secure_sum.session import collect, unmasked

DEVICES, FEWEST, LOST = 1_000, 900, 100
DELTA = 1e-6
EPSILONS = (0.5, 1.0, 2.0)
TIMES = 20
"""That a question is asked, each time with other noise."""
EDGES = tuple(float(edge) for edge in range(10, 90, 10))
WORDS = tuple(f"class {number}" for number in range(200))
FACTS = OwnFacts((), {}, {}, is_failing=False, is_waiting=False)


def measure() -> list[Figure]:
    return list(_figures())


def _figures() -> Iterator[Figure]:
    drawn = np.random.default_rng(1)
    samples, kinds = drawn.gamma(4.0, 10.0, DEVICES), np.minimum(drawn.zipf(1.4, DEVICES) - 1, len(WORDS) - 1)
    of_samples = [FACTS._replace(quantities={"samples": float(one)}) for one in samples]
    of_kinds = [FACTS._replace(properties={"machine": WORDS[kind]}) for kind in kinds]
    yield from _histograms(of_samples)
    yield from _heavy_hitters(of_kinds)
    yield from _costs()


def _histograms(fleet: list[OwnFacts]) -> Iterator[Figure]:
    for epsilon in (None, *EPSILONS):
        question = asked(Histogram(of="samples", edges=EDGES), epsilon)
        truth = np.sum([question.counted(facts) for facts in fleet], axis=0)
        answers = [answer(question, fleet, turn) for turn in range(TIMES if epsilon is not None else 1)]
        error = float(np.sqrt(np.mean([np.square(found.counts - truth) for found in answers])))
        case = f"{len(truth)} bins, {DEVICES} devices, " + ("exact" if epsilon is None else f"epsilon {epsilon:g}")
        yield Figure(case, "error of a count", error, "devices", f"theory {answers[0].deviation:.3f}")
        apart = np.mean([np.abs(found.counts - truth).sum() / (2 * DEVICES) for found in answers])
        target = "target <= 0.03" if epsilon == 1.0 else None
        yield Figure(case, "total variation", float(apart), "", target)


def _heavy_hitters(fleet: list[OwnFacts]) -> Iterator[Figure]:
    for epsilon in EPSILONS:
        question = asked(Words(of="machine", words=WORDS), epsilon)
        truth = np.sum([question.counted(facts) for facts in fleet], axis=0)
        heavy = {place for place in range(len(WORDS)) if truth[place] >= DEVICES / 40}
        found = [set(np.argsort(answer(question, fleet, turn).counts[:-1])[-len(heavy) :]) for turn in range(TIMES)]
        share = float(np.mean([len(one & heavy) / len(heavy) for one in found]))
        case = f"{len(heavy)} heavy hitters of {len(WORDS)} words, epsilon {epsilon:g}"
        yield Figure(case, "found", share, "share", "words of a fortieth of the fleet or more")


def _costs() -> Iterator[Figure]:
    question = asked(Classes(classes=100), 1.0)
    encoding, case = Encoding(question, DEVICES), f"100 classes, {DEVICES} devices, a tenth lost"
    began = time.process_time()
    for number in range(10):
        encoding.vector(question.counted(FACTS), key=bytes([number]) * 32)
    counted_s = (time.process_time() - began) / 10
    began = time.process_time()
    found = collect(DEVICES, encoding.layout, question.terms, before_vector=range(LOST))
    device_s = (time.process_time() - began) / DEVICES + counted_s
    state = found.states[DEVICES - 1]
    beside = len(msgspec.json.encode(state.sent)) + len(msgspec.json.encode(found.revealed[DEVICES - 1]))
    yield Figure(case, "processor time of a device", 1e3 * device_s, "ms")
    yield Figure(case, "vector of a device", len(found.files[DEVICES - 1]), "bytes")
    yield Figure(case, "sent beside it", beside, "bytes", "target <= 15360")
    began = time.process_time()
    total = unmasked(found, encoding.layout, question.terms)
    yield Figure(case, "processor time of the platform", time.process_time() - began, "s", "target <= 10 s")
    assert len(total.numbers) == encoding.layout.length


def asked(count: Classes | Histogram | Words, epsilon: float | None) -> Question:
    """With the noise of an `epsilon`; None: without."""
    noise = None if epsilon is None else most_of(epsilon, DELTA) ** -0.5
    return Question(count, noise_multiplier=noise, min_devices=FEWEST, corrupted=0.05, dropped=0.1)


def answer(question: Question, fleet: list[OwnFacts], turn: int) -> FleetAnswer:
    """That of all devices: what masks leave of a sum is the sum of the vectors."""
    encoding = Encoding(question, len(fleet))
    numbers = np.zeros(encoding.layout.length, np.uint32)
    for number, facts in enumerate(fleet):
        key = np.random.default_rng([turn, number]).bytes(32)
        numbers += encoding.vector(question.counted(facts), key=key).numbers
    return encoding.answer(Vector(32, numbers, np.array([len(fleet)], np.uint64)), len(fleet))
