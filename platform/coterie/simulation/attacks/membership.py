"""Membership inference: was this device in the round?

The attacker knows the previous version and the samples of the device in question. It trains on them itself and projects
what it sees on the resulting update (the gradient attack of Nasr et al. 2019, arXiv 1812.00910, for one round). In half
of the trials the device was in the round; in the other half another took its place. Half of the trials choose the
threshold; in the others the advantage is the true positive rate minus the false positive rate (Yeom et al. 2018, arXiv
1709.01604, Definition 4).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.simulation.attacks.attacked_fleet import AttackedFleet, Float64, ObservedUpdate, flat
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_wire.tensors import Tensors

See = Callable[[Plan, ObservedUpdate, Sequence[ObservedUpdate], int], Tensors]
"""What the attacker sees, under a plan, of one device's update and the others'; the seed is the trial's."""


class Advantage(NamedTuple):
    """True positive rate minus false positive rate: 0 by chance, 1 at best."""

    value: float
    error: float
    """Its standard error."""


class MembershipInference:
    """The trials of one plan."""

    def __init__(self, ground: AttackedFleet, plain: Plan, *, cohort: int, samples: int, seed: int) -> None:
        """`plain` is the plan without its privacy, under which the attacker trains; a round has `cohort` devices.

        The fleet has at least one device more than that.
        """
        self._ground, self._samples, self._seed = ground, samples, seed
        self._cohort = cohort
        own = [ground.sent(plain, device, samples=samples, seed=seed + 1) for device in range(cohort + 1)]
        expected = np.array([flat(ground.read(plain, one)) for one in own])
        self._usual = expected.mean(axis=0)
        self._expected = expected - self._usual

    def advantage(self, plan: Plan, see: See, *, trials: int, report: Callable[[int], None]) -> Advantage:
        """The advantage of an attacker who sees `see` under `plan`."""
        others = [self._sent(plan, device, 0) for device in range(self._cohort + 1)]
        scores: tuple[list[float], list[float]] = ([], [])
        for trial in range(trials):
            rng = np.random.default_rng([self._seed, trial])
            target, stand_in, *rest = rng.permutation(self._cohort + 1).tolist()
            for is_in in (False, True):
                one = self._sent(plan, target if is_in else stand_in, 1 + 2 * trial + is_in)
                seen = see(plan, one, [others[device] for device in rest], 1 + 2 * trial + is_in)
                scores[is_in].append(self._score(flat(seen), target))
            report(trial + 1)
        return _advantage(np.array(scores[True]), np.array(scores[False]))

    def _sent(self, plan: Plan, device: int, number: int) -> ObservedUpdate:
        seed = derive_seed(self._seed, "trial", device, number)
        return self._ground.sent(plan, device, samples=self._samples, seed=seed)

    def _score(self, seen: Float64, target: int) -> float:
        expected = self._expected[target]
        return float((seen - self._usual) @ expected) / max(float(np.linalg.norm(expected)), 1e-12)


def _advantage(inside: Float64, outside: Float64) -> Advantage:
    tried = len(inside) // 2
    best = max(
        np.unique(np.concatenate([inside[:tried], outside[:tried]])),
        key=lambda one: _share(inside[:tried] >= one) - _share(outside[:tried] >= one),
    )
    hits, alarms = inside[tried:] >= best, outside[tried:] >= best
    spread = sum(_share(one) * (1 - _share(one)) / len(one) for one in (hits, alarms))
    return Advantage(_share(hits) - _share(alarms), math.sqrt(spread))


def _share(found: NDArray[np.bool_]) -> float:
    return float(found.mean())
