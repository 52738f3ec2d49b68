"""One run: forty rounds under one rule and one attack, merged by what production merges with."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.cohort import admit
from coterie_learning.fold import Aggregation, CountedUpdate, fold_in_memory
from coterie_learning.plan import MERGE
from coterie_learning.tally import outliers, tally
from coterie_wire.bundle import ModelSpec, TensorSpec
from tests.benchmarks.robust.attacks import ATTACKS, Attack, attacked
from tests.benchmarks.robust.fleet import World, accuracy, first_model, make_world, taken, triggered, updates_of
from tests.coterie_learning.merge.folding import stored

NOBODY = Attack()
MOST = 127.0
"""What is larger is refused on its way in, under every rule."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings file; see there."""

    seeds: tuple[int, ...]
    devices: int
    rounds: int
    steps: int
    batch_size: int
    learning_rate: float
    hidden: int
    test_share: float
    root_samples: int
    concentration: Mapping[str, float]
    attacks: Mapping[str, float]


SETTINGS = msgspec.toml.decode((Path(__file__).parent / "settings.toml").read_bytes(), type=Settings)


class Arm(NamedTuple):
    """What is run."""

    merge: tuple[tuple[str, object], ...]
    """The kind as a plan writes it."""
    split: str
    hostile: int
    attack: str
    admits: bool = False
    """Whether updates of ten times the median norm are left out before, as in production, whatever the rule."""


class Found(NamedTuple):
    """At the end of a run, in percent."""

    accuracy: float
    success: float
    """Images with the trigger that are taken for zeros, and are none."""
    hostile_left_out: float
    """Of the hostile updates, over all rounds."""
    honest_left_out: float
    hostile_named: float
    """Left out and far from the others, for which the operator is told."""
    honest_named: float


@cache
def _world(split: str, seed: int) -> World:
    return make_world(
        devices=SETTINGS.devices,
        concentration=SETTINGS.concentration[split],
        root_samples=SETTINGS.root_samples,
        test_share=SETTINGS.test_share,
        seed=seed,
    )


def run(arm: Arm, seed: int) -> Found:
    """The first devices are the hostile ones."""
    world, merge = _world(arm.split, seed), MERGE.parse(dict(arm.merge))
    attack = ATTACKS.get(arm.attack, NOBODY)
    data = [attack.learns_from(device) if place < arm.hostile else device for place, device in enumerate(world.devices)]
    model = first_model(SETTINGS.hidden, seed)
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in model.items())
    spec = ModelSpec.of_classifier(inputs=(), classes=10, batch_size=1, parameters=specs)
    out, named = np.zeros(SETTINGS.devices), np.zeros(SETTINGS.devices)
    for number in range(SETTINGS.rounds):
        said = updates_of(
            model,
            data,
            steps=SETTINGS.steps,
            batch_size=SETTINGS.batch_size,
            learning_rate=SETTINGS.learning_rate,
            seed=(seed, 2, number),
        )
        if arm.hostile:
            said = attacked(attack, said, arm.hostile, SETTINGS.attacks, (seed, 3, number))
        own = None
        if merge.compares_with_root:
            (learned,) = updates_of(
                model,
                [taken(world.root, np.arange(merge.root_samples()))],
                steps=SETTINGS.steps,
                batch_size=SETTINGS.batch_size,
                learning_rate=SETTINGS.learning_rate,
                seed=(seed, 4, number),
            )
            _, (own,) = stored(model, [learned], Float32Codec())
        said = [{name: np.clip(np.nan_to_num(one), -MOST, MOST) for name, one in update.items()} for update in said]
        _, opens = stored(model, said, Float32Codec())
        kept = list(admit(opens, spec, {}, lambda _: None).kept) if arm.admits else list(range(len(said)))
        samples = [len(data[place].labels) for place in kept]
        found = tally(merge, specs, [opens[place] for place in kept], samples, root=own)
        counted = [
            CountedUpdate(opens[place], weight) for place, weight in zip(kept, found.weights, strict=True) if weight
        ]
        counts = [place for place, weight in zip(kept, found.weights, strict=True) if weight]
        out[[place for place in range(len(said)) if place not in counts]] += 1
        named[[kept[place] for place in outliers(found.ballots)]] += 1
        if counted:  # else production abandons the round
            model = fold_in_memory(merge, specs, counted, model, None, Aggregation(share=found.share)).parameters
    others = taken(world.test, np.flatnonzero(world.test.labels != 0))
    return Found(
        100 * accuracy(model, world.test),
        100 * accuracy(model, triggered(others)) if attack.has_trigger else 0.0,
        *(_share(times[part]) for times in (out, named) for part in (slice(arm.hostile), slice(arm.hostile, None))),
    )


def _share(times: np.ndarray) -> float:
    return 100 * float(times.mean()) / SETTINGS.rounds if times.size else 0.0
