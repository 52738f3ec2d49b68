"""Noise on sums: what a guarantee costs in accuracy, with white noise and with noise that is correlated over rounds.

1,000 devices of eight digits of two classes take turns in 100 rounds of 100, so that each is in ten of them, ten rounds
apart; a network of 2,410 parameters. Rounds are merged by what production merges with, and the noise is what the
ledger's accountant says. Beside it white noise with every device charged for every release, as where nobody keeps
account of who took part.
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
from coterie_learning.correlation import banded_square_root, sensitivity
from coterie_learning.flat import parameters_of
from coterie_learning.fold import Aggregation, CountedUpdate, Release, fold_in_memory
from coterie_learning.merge.fed_avg_m import FedAvgM
from coterie_learning.noise import whole_noise
from coterie_learning.pace import FULL_WEIGHT
from coterie_learning.privacy import Privacy
from coterie_learning.privacy.central_noise import CentralNoise
from coterie_learning.privacy.correlated_noise import CorrelatedNoise
from coterie_wire.bundle import ModelSpec, TensorSpec
from tests.benchmarks.privacy.canary import audit
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
APART = SETTINGS.rounds // PARTS
"""Rounds between two parts of a device."""
FAR_OFF, FAR_OFF_EPSILON = (0.01, 10.0), 8.0
"""Norms that a norm which follows updates begins with."""
TARGET, WHITE_TARGET = 88.0, 75.0
"""Percent at epsilon 1, with correlated noise at least and with white noise at most."""


class World(NamedTuple):
    """Who has which samples."""

    devices: Sequence[Samples]
    test: Samples


def measure() -> list[Figure]:
    worlds = {seed: make_world(seed) for seed in SETTINGS.seeds}

    def over_seeds(privacy: Privacy) -> float:
        return mean(run(world, privacy, seed) for seed, world in worlds.items())

    without = over_seeds(white(NO_NOISE))
    return [
        Figure("no noise", "accuracy", without, "%"),
        *_figures(over_seeds, without),
        *_norms(over_seeds),
        *audit(),
        _speed(),
    ]


def white(multiplier: float, *, norm: float = SETTINGS.norm) -> CentralNoise:
    return CentralNoise(norm=norm, noise_multiplier=multiplier)


def correlated(multiplier: float) -> CorrelatedNoise:
    return CorrelatedNoise(
        norm=SETTINGS.norm, noise_multiplier=multiplier, separation_rounds=APART, target_rounds=SETTINGS.rounds
    )


def _figures(over_seeds: Callable[[Privacy], float], without: float) -> Iterator[Figure]:
    moved = sensitivity(banded_square_root(APART), rounds=SETTINGS.rounds, apart=APART)
    for epsilon in SETTINGS.epsilons:
        most = most_of(epsilon, SETTINGS.delta)
        turns, everyone = (math.sqrt(parts / most) for parts in (PARTS, SETTINGS.rounds))
        over_rounds = moved / math.sqrt(most)
        found, plain, blunt = (over_seeds(kind) for kind in (correlated(over_rounds), white(turns), white(everyone)))
        case = f"epsilon {epsilon:g} at delta {SETTINGS.delta:g}"
        targets = (f", target >= {TARGET:g} %", f", target <= {WHITE_TARGET:g} %") if epsilon == 1 else ("", "")
        yield Figure(
            f"{case}, correlated noise, z {over_rounds:.2f}",
            "accuracy",
            found,
            "%",
            against=f"white noise, {plain:.1f} %; no noise, {without:.1f} %{targets[0]}",
            ratio=found / plain,
        )
        yield Figure(
            f"{case}, white noise, z {turns:.2f}",
            "accuracy",
            plain,
            "%",
            against=f"everyone charged for every release, {blunt:.1f} % at z {everyone:.2f}{targets[1]}",
            ratio=plain / blunt,
        )


def _norms(over_seeds: Callable[[Privacy], float]) -> Iterator[Figure]:
    """From a norm that is far off, fixed and with one that follows the median."""
    multiplier = math.sqrt(PARTS / most_of(FAR_OFF_EPSILON, SETTINGS.delta))
    for norm in FAR_OFF:
        fixed = white(multiplier, norm=norm)
        found, still = (over_seeds(kind) for kind in (msgspec.structs.replace(fixed, quantile=0.5), fixed))
        case = f"epsilon {FAR_OFF_EPSILON:g}, white noise, norm from {norm:g} on towards the median"
        yield Figure(case, "accuracy", found, "%", against=f"norm stays, {still:.1f} %", ratio=found / still)


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


def run(world: World, privacy: Privacy, seed: int) -> float:
    """Accuracy at the end, in percent: devices take part in the order of a deck that is shuffled once."""
    merge, digests = _merge(), list[str]()
    model, state = first_model(SETTINGS.hidden, seed), None
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in model.items())
    spec = ModelSpec.of_classifier(inputs=(), classes=CLASSES, batch_size=1, parameters=specs)
    deck = np.random.default_rng([seed, 2]).permutation(SETTINGS.devices)
    for number in range(SETTINGS.rounds):
        chosen, deck = deck[: SETTINGS.cohort], np.roll(deck, -SETTINGS.cohort)
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
        bound = privacy.bound()
        assert bound is not None
        shares = shortened(full, admission.norms, bound, parameters=parameters_of(specs))
        weighed = discounted([1] * len(shares), shares)
        counted = [CountedUpdate(opens[place], *one) for place, one in zip(admission.kept, weighed, strict=True)]
        release = Release.under(privacy, seed.to_bytes(32, "big"), [str(number)], digests)
        digests.append(release.digest)
        model, state = fold_in_memory(merge, specs, counted, model, state, Aggregation(release=release))
        following = privacy.next_bound(admission.norms, seed=release.seed)
        if following is not None:
            privacy = privacy.bounded_by(following)
    return 100 * accuracy(model, world.test)


def _merge() -> FedAvgM:
    return FedAvgM(weight_by="uniform", momentum=SETTINGS.momentum, learning_rate=SETTINGS.server_learning_rate)


def _speed() -> Figure:
    begun = time.process_time()
    whole_noise(2.0**32, bytes(32), "delta.weight", 0, TIMED)
    return Figure("noise on a sum", "processor time a million parameters", time.process_time() - begun, "s")
