"""What a federation learns through numbers of few bits, and under noise of its devices, beside one without either."""

import math
from collections.abc import Iterator, Sequence
from statistics import mean

import numpy as np

from coterie.privacy.accounting import most_of
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.flat import flat, parameters_of, unflat
from coterie_learning.fold import CountedUpdate, fold_in_memory
from coterie_learning.merge.fed_avg_m import FedAvgM
from coterie_learning.noise import SECRET_BYTES
from coterie_learning.privacy.clip import Clip
from coterie_learning.random import random_bytes
from coterie_learning.secure_sum.grid import Grid, Noise
from coterie_learning.secure_sum.vector import Vector, added
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors
from tests.benchmarks.privacy import PARTS, SETTINGS, World, make_world, white
from tests.benchmarks.privacy import run as run_noisy
from tests.benchmarks.report import Figure
from tests.benchmarks.robust.fleet import accuracy, first_model, updates_of
from tests.coterie_learning.merge.folding import stored

SEEDS = (0, 1)
BITS = (8, 12, 16, 32)
EPSILONS = (8.0, 2.0)
HONEST = 0.9
"""Share of the devices of a sum whose noise is counted on."""
NOISY_BITS = 16


def figures() -> Iterator[Figure]:
    worlds = {seed: make_world(seed) for seed in SEEDS}
    plain = mean(run(world, None, seed) for seed, world in worlds.items())
    case = f"digits, {SETTINGS.devices:,} devices, {SETTINGS.rounds} rounds of {SETTINGS.cohort}"
    yield Figure(case, "accuracy with float32", plain, "%")
    for bits in BITS:
        found = mean(run(world, _grid(bits), seed) for seed, world in worlds.items())
        yield Figure(
            case, f"accuracy with {bits} bits", found, "%", against=f"float32, {plain:.1f} %", ratio=found / plain
        )

    for epsilon in EPSILONS:
        multiplier = math.sqrt(PARTS / most_of(epsilon, SETTINGS.delta))
        noise = Noise(multiplier, round(HONEST * SETTINGS.cohort))
        found = mean(run(world, _grid(NOISY_BITS, noise), seed) for seed, world in worlds.items())
        central = mean(run_noisy(world, white(multiplier), seed) for seed, world in worlds.items())
        yield Figure(
            f"{case}, epsilon {epsilon:g}, noise of devices, z {multiplier:.2f}",
            f"accuracy with {NOISY_BITS} bits",
            found,
            "%",
            against=f"noise of the platform, {central:.1f} %",
            ratio=found / central,
        )


def run(world: World, grid: Grid | None, seed: int) -> float:
    """Accuracy at the end, in percent: devices take part in the order of a deck that is shuffled when it is through."""
    merge = FedAvgM(weight_by="uniform", momentum=SETTINGS.momentum, learning_rate=SETTINGS.server_learning_rate)
    model, state = first_model(SETTINGS.hidden, seed), None
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in model.items())
    rng, deck = np.random.default_rng([seed, 2]), np.empty(0, np.int64)
    for number in range(SETTINGS.rounds):
        if not len(deck):
            deck = rng.permutation(SETTINGS.devices)
        chosen, deck = deck[: SETTINGS.cohort], deck[SETTINGS.cohort :]
        updates = updates_of(
            model,
            [world.devices[place] for place in chosen],
            steps=SETTINGS.steps,
            batch_size=SETTINGS.samples,
            learning_rate=SETTINGS.learning_rate,
            seed=(seed, 3, number),
        )
        updates = [Clip(norm=SETTINGS.norm).protect(update, seed=0) for update in updates]
        _, opens = stored(model, updates if grid is None else [_mean(updates, specs, grid, number)], Float32Codec())
        model, state = fold_in_memory(merge, specs, [CountedUpdate(one, 1) for one in opens], model, state)
    return 100 * accuracy(model, world.test)


def _grid(bits: int, noise: Noise | None = None) -> Grid:
    """Of the network's sums, but for their seeds."""
    specs = tuple(TensorSpec(name, "float32", one.shape) for name, one in first_model(SETTINGS.hidden, 0).items())
    return Grid(parameters_of(specs), bits, SETTINGS.norm, SETTINGS.cohort, 0, noise)


def _mean(updates: Sequence[Tensors], specs: tuple[TensorSpec, ...], grid: Grid, number: int) -> Tensors:
    """What comes out of a secure sum; its masks cancel, and are left out."""
    grid = grid._replace(seed=number)
    none = np.zeros(0, np.uint64)
    vectors = []
    for seed, update in enumerate(updates):
        key = random_bytes(SECRET_BYTES, number, "device", seed)
        numbers = grid.rounded(flat(update, np.float32), weight=1.0, seed=seed, key=key)
        vectors.append(Vector(grid.bits, numbers, none))
    return unflat(grid.mean(added(vectors).numbers, weight=len(updates)), specs)
