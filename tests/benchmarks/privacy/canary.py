"""An audit: what a canary that is in a sum or not can be told from by the best threshold, against what is claimed.

The canary sends C·u for a direction u that the attacker knows, as the others' zeros and everything but the noise's key
are known to him. Of 1,000 runs with it and 1,000 without, half choose the threshold; by the others' hits and false
alarms epsilon is above a bound with a confidence of 95 % (Clopper and Pearson 1934, doi 10.1093/biomet/26.4.404). Under
noise over rounds he sees the whole stream, and undoes the correlation before he looks.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from coterie.privacy.accounting import cost_of, epsilon_of
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.correlation import banded_square_root
from coterie_learning.fold import Aggregation, CountedUpdate, Release, fold_in_memory
from coterie_learning.merge import Cohort
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.privacy import Privacy
from coterie_learning.privacy.central_noise import CentralNoise
from coterie_learning.privacy.correlated_noise import CorrelatedNoise
from coterie_wire.tensors import Tensors
from tests.benchmarks.report import Figure
from tests.coterie_learning.merge.folding import stored

Float64 = NDArray[np.float64]
RUNS, UPDATES, NUMBERS, DELTA = 1000, 4, 20, 1e-4
APART, PARTS = 3, 2
CONFIDENCE = 0.95
_ZERO: Tensors = {"w": np.zeros(NUMBERS, np.float32)}


def audit() -> Iterator[Figure]:
    white = CentralNoise(noise_multiplier=1.0)
    correlated = CorrelatedNoise(noise_multiplier=2.0, separation_rounds=APART, target_rounds=APART * PARTS)
    stream = list(range(0, APART * PARTS, APART))
    for kind, parts, case in (
        (white, [0], "one round of white noise"),
        (correlated, stream, f"{APART * PARTS} rounds of correlated noise, {PARTS} parts"),
        (CentralNoise(noise_multiplier=1e-3), [0], "control: hardly any noise"),
    ):
        rounds = parts[-1] + APART if len(parts) > 1 else 1
        with_it, without = (
            np.array([_score(kind, rounds, parts, run, is_there=is_there) for run in range(RUNS)])
            for is_there in (True, False)
        )
        spent = kind.spend(Cohort(UPDATES, UPDATES))
        assert spent is not None
        claimed = epsilon_of(len(parts) * cost_of(spent), DELTA)
        found = at_least(with_it, without)
        yield Figure(f"canary, {case}", "epsilon at least", found, "", against=f"claimed, at most {claimed:.2f}")


def at_least(with_it: Float64, without: Float64) -> float:
    """Epsilon that the scores prove, at `DELTA`; 0 where they prove none."""
    tried, judged = slice(None, RUNS // 2), slice(RUNS // 2, None)
    thresholds = np.unique(np.concatenate([with_it[tried], without[tried]]))
    best = max(thresholds, key=lambda one: _epsilon(with_it[tried] >= one, without[tried] >= one))
    return _epsilon(with_it[judged] >= best, without[judged] >= best)


def _epsilon(hits: NDArray[np.bool_], alarms: NDArray[np.bool_]) -> float:
    tail = (1 - CONFIDENCE) / 2
    least = beta.ppf(tail, hits.sum(), len(hits) - hits.sum() + 1) if hits.any() else 0.0
    most = beta.ppf(1 - tail, alarms.sum() + 1, len(alarms) - alarms.sum()) if not alarms.all() else 1.0
    return max(0.0, math.log((least - DELTA) / most)) if least > DELTA else 0.0


def _score(kind: Privacy, rounds: int, parts: Sequence[int], run: int, *, is_there: bool) -> float:
    """How far the releases lie in the canary's direction, once what later rounds take back is undone."""
    bound = kind.bound()
    assert bound is not None
    canary: Tensors = {"w": np.full(NUMBERS, bound / math.sqrt(NUMBERS), np.float32)}
    strategy = banded_square_root(APART if kind.stream() is not None else 1)
    digests: list[str] = []
    found, expected = np.zeros(rounds), np.zeros(rounds)
    for number in range(rounds):
        takes_part = is_there and number in parts
        release = Release.under(kind, run.to_bytes(31, "big") + bytes([is_there]), [str(number)], digests)
        digests.append(release.digest)
        found[number] = _summed(release, canary if takes_part else _ZERO) @ canary["w"] / bound**2
        expected[number] = number in parts
    undone, moved = (np.convolve(strategy, one)[:rounds] for one in (found, expected))
    return float(undone @ moved)


def _summed(release: Release, first: Tensors) -> Float64:
    specs, opens = stored(_ZERO, [first, *[_ZERO] * (UPDATES - 1)], Float32Codec())
    counted = [CountedUpdate(one, 1) for one in opens]
    merge = FedAvg(weight_by="uniform")
    merged = fold_in_memory(merge, specs, counted, _ZERO, None, Aggregation(release=release)).parameters["w"]
    return merged.astype(np.float64) * UPDATES
