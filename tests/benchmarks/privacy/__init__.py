"""Central noise: what a guarantee costs in accuracy, with each device charged for its own parts, and what noise takes.

1,000 devices of eight digits of two classes take turns in 100 rounds of 100, so that each is in ten of them; a network
of 2,410 parameters. Rounds are merged by what production merges with, and the noise is what the ledger's accountant
says. Beside it the same with every device charged for every release, as where nobody keeps account of who took part.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import msgspec
import numpy as np

from coterie.privacy.accounting import most_of
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.cohort import admit, discounted, shortened
from coterie_learning.flat import parameters_of
from coterie_learning.fold import Counted, Release, fold_in_memory
from coterie_learning.merge.fed_avg_m import FedAvgM
from coterie_learning.noise import release_key, whole_noise
from coterie_learning.pace import FULL_WEIGHT
from coterie_learning.privacy.central_noise import CentralNoise
from coterie_wire.bundle import ModelSpec, TensorSpec
from tests.benchmarks.report import Figure
from tests.benchmarks.robust.fleet import CLASSES, Samples, accuracy, first_model, taken, updates_of
from tests.coterie_learning.merge.folding import stored

TIMED = 1_000_000
"""Parameters for which noise is timed."""
NO_NOISE = 1e-6
"""Of a norm: so little that it can be told from none by nobody."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings file; see there."""

    seeds: tuple[int, ...]
    devices: int
    samples: int
    classes: int
    cohort: int
    rounds: int
    steps: int
    learning_rate: float
    hidden: int
    norm: float
    momentum: float
    server_learning_rate: float
    test_share: float
    delta: float
    epsilons: tuple[float, ...]


SETTINGS = msgspec.toml.decode((Path(__file__).parent / "settings.toml").read_bytes(), type=Settings)
PARTS = SETTINGS.rounds * SETTINGS.cohort // SETTINGS.devices
"""Rounds that each device is in."""


class World(NamedTuple):
    """Who has which samples."""

    devices: Sequence[Samples]
    test: Samples


def measure() -> list[Figure]:
    worlds = {seed: make_world(seed) for seed in SETTINGS.seeds}

    def over_seeds(multiplier: float) -> float:
        return mean(run(world, multiplier, seed) for seed, world in worlds.items())

    without = over_seeds(NO_NOISE)
    return [Figure("no noise", "accuracy", without, "%"), *_figures(over_seeds, without), _speed()]


def _figures(over_seeds: Callable[[float], float], without: float) -> Iterator[Figure]:
    for epsilon in SETTINGS.epsilons:
        most = most_of(epsilon, SETTINGS.delta)
        turns, everyone = (math.sqrt(parts / most) for parts in (PARTS, SETTINGS.rounds))
        found, blunt = over_seeds(turns), over_seeds(everyone)
        case = f"epsilon {epsilon:g} at delta {SETTINGS.delta:g}"
        against = f"everyone charged for every release, {blunt:.1f} % at z {everyone:.2f}; no noise, {without:.1f} %"
        yield Figure(f"{case}, z {turns:.2f}", "accuracy", found, "%", against=against, ratio=found / blunt)


def make_world(seed: int) -> World:
    from sklearn.datasets import load_digits

    rng, digits = np.random.default_rng([seed, 0]), load_digits()
    order = rng.permutation(len(digits.target))
    whole = Samples((digits.data[order] / 16).astype(np.float32), digits.target[order].astype(np.int64))
    tested = round(SETTINGS.test_share * len(order))
    rest = taken(whole, np.arange(tested, len(order)))
    fleet = []
    for _ in range(SETTINGS.devices):
        own = rng.choice(CLASSES, SETTINGS.classes, replace=False)
        fleet.append(taken(rest, rng.choice(np.flatnonzero(np.isin(rest.labels, own)), SETTINGS.samples)))
    return World(fleet, taken(whole, np.arange(tested)))


def run(world: World, multiplier: float, seed: int) -> float:
    """Accuracy at the end, in percent: devices take part in the order of a deck that is shuffled when it is through."""
    privacy, merge = CentralNoise(norm=SETTINGS.norm, noise_multiplier=multiplier), _merge()
    model, state = first_model(SETTINGS.hidden, seed), None
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in model.items())
    spec = ModelSpec.of_classifier(inputs=(), classes=CLASSES, batch_size=1, parameters=specs)
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
        _, opens = stored(model, [privacy.protect(update, seed=0) for update in updates], Float32Codec())
        admission = admit(opens, spec, {}, lambda _: None, bound=privacy.bound())
        full = [FULL_WEIGHT] * len(admission.kept)
        shares = shortened(full, admission.norms, SETTINGS.norm, parameters=parameters_of(specs))
        weighed = discounted([1] * len(shares), shares)
        counted = [Counted(opens[place], *one) for place, one in zip(admission.kept, weighed, strict=True)]
        release = Release(privacy, release_key(seed.to_bytes(32, "big"), str(number)))
        model, state = fold_in_memory(merge, specs, counted, model, state, release=release)
    return 100 * accuracy(model, world.test)


def _merge() -> FedAvgM:
    return FedAvgM(weight_by="uniform", momentum=SETTINGS.momentum, learning_rate=SETTINGS.server_learning_rate)


def _speed() -> Figure:
    begun = time.process_time()
    whole_noise(2.0**32, bytes(32), "delta.weight", 0, TIMED)
    return Figure("noise on a sum", "processor time a million parameters", time.process_time() - begun, "s")
