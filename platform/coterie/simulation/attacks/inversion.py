"""Gradient inversion: reconstructs the sample that a device trained on from its update.

A dense layer's gradient is the outer product of the backpropagated error and its input, and its bias's gradient is that
error: after training on one sample, their quotient is the sample (Phong et al. 2018, doi 10.1109/TIFS.2017.2787987,
§III; Geiping et al. 2020, arXiv 2003.14053, Proposition 3.1). The attacker solves the first layer by least squares over
its rows, and succeeds where the reconstruction is nearer to the device's sample than to any of a hundred others.
"""

import math
from collections.abc import Callable

import numpy as np

from coterie.simulation.attacks.attacked_fleet import AttackedFleet, Float64
from coterie.simulation.attacks.membership import Advantage, See
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Tensors

OTHERS = 100
EACH = 50
"""Samples of each device from which the others are drawn."""


def first_layer(model: ModelSpec) -> tuple[str, str] | None:
    """The names of weight and bias of a dense layer that reads the model's input; None: there is none."""
    if len(model.inputs) != 1:
        return None
    shapes = {spec.name: spec.shape for spec in model.parameters}
    width = math.prod(model.inputs[0].shape)
    for name, shape in shapes.items():
        bias = name.removesuffix("weight") + "bias"
        if name.endswith("weight") and len(shape) == 2 and shape[1] == width and shapes.get(bias) == shape[:1]:
            return name, bias
    return None


def inverted(difference: Tensors, layer: tuple[str, str]) -> Float64:
    """The input [numbers] that best explains the change of a layer, up to sign and scale under noise."""
    weight, bias = (np.asarray(difference[name], np.float64) for name in layer)
    square = float(bias @ bias)
    found: Float64 = bias @ weight / square if square > 0 else np.zeros(weight.shape[1])
    return found


class Inversion:
    """The trials of one fleet."""

    def __init__(self, ground: AttackedFleet, layer: tuple[str, str], *, cohort: int, seed: int) -> None:
        self._ground, self._layer, self._cohort, self._seed = ground, layer, cohort, seed
        self._inputs = [_inputs(ground, device) for device in range(cohort + 1)]

    def advantage(self, plan: Plan, see: See, *, trials: int, report: Callable[[int], None]) -> Advantage:
        """The advantage of an attacker who sees `see` under `plan` over choosing one of the samples at random."""
        others = [self._ground.sent(plan, device, samples=1, seed=self._seed) for device in range(self._cohort + 1)]
        wins = 0
        for trial in range(trials):
            rng = np.random.default_rng([self._seed, trial])
            target, *rest = rng.permutation(self._cohort + 1)[: self._cohort].tolist()
            one = self._ground.sent(plan, target, samples=1, seed=derive_seed(self._seed, "trial", trial))
            seen = see(plan, one, [others[device] for device in rest], trial)
            wins += self._is_nearest(inverted(seen, self._layer), target, rng)
            report(trial + 1)
        share, chance = wins / trials, 1 / (OTHERS + 1)
        return Advantage((share - chance) / (1 - chance), math.sqrt(share * (1 - share) / trials))

    def _is_nearest(self, picture: Float64, target: int, rng: np.random.Generator) -> bool:
        own = self._inputs[target][0]
        pool = np.concatenate([inputs for device, inputs in enumerate(self._inputs) if device != target])
        others = pool[rng.choice(len(pool), OTHERS, replace=len(pool) < OTHERS)]
        return _likeness(picture, own) > max(_likeness(picture, other) for other in others)


def _inputs(ground: AttackedFleet, device: int) -> Float64:
    """Inputs of its first samples, of which the very first is trained on: [samples, numbers]."""
    (inputs,) = ground.samples(device, EACH).inputs.values()
    return inputs.reshape(len(inputs), -1).astype(np.float64)


def _likeness(picture: Float64, sample: Float64) -> float:
    """The cosine similarity after subtracting means."""
    one, other = picture - picture.mean(), sample - sample.mean()
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / size if size > 0 else 0.0
