"""MOCHA: the error of the devices' own models, against one model for all and against training alone."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean

from coterie_learning.plan import parse_plan
from coterie_learning.random import derive_seed
from coterie_wire.tensors import Tensors
from tests.benchmarks.family.data import related
from tests.benchmarks.family.holding import Steps, accuracy, all_steps, hold
from tests.benchmarks.family.models import drawn, learner
from tests.benchmarks.family.settings import Tasks
from tests.benchmarks.report import Figure

MOCHA, GLOBAL, ALONE = "MOCHA", "one model for all", "alone"
ALIKE, LATE, ABSENT = "people alike", "partial work", "half absent"
ARMS = (MOCHA, GLOBAL, ALONE, *(f"{MOCHA}; {case}" for case in (LATE, ABSENT)))
CONTROLS = tuple(f"{name}; {ALIKE}" for name in (MOCHA, GLOBAL))
EXACT = 1_000_000


def run(tasks: Tasks, name: str, seed: int) -> float:
    """Mean error of the devices, each counted once, in percent."""
    kind, _, case = name.partition("; ")
    fleet = related(seed, devices=tasks.devices, sorts=1 if case == ALIKE else 3, apart=0 if case == ALIKE else 0.35)
    first = drawn(learner(30, (), 2, activation="relu", batch_size=10), seed)
    local: dict[str, object] = {"kind": "sgd", "epochs": tasks.epochs, "learning_rate": tasks.learning_rate}
    merge: dict[str, object] = {"kind": "fed_avg", "weight_by": "uniform"}
    if kind != GLOBAL:
        local = {**local, "kind": "multitask", "mu": tasks.mu if kind == MOCHA else 0.0}
        merge = {"kind": "multitask"}
    own: dict[int, Tensors] = {}
    *_, last = hold(
        parse_plan({"local": local, "merge": merge}),
        first,
        fleet.train,
        rounds=tasks.rounds,
        cohort=tasks.devices,
        seed=seed,
        steps=_time(case, tasks.epochs, seed),
        own=None if kind == GLOBAL else own,
    )
    return mean(100 * (1 - accuracy(first, own.get(device, last), data)) for device, data in enumerate(fleet.test))


def _time(case: str, epochs: int, seed: int) -> Steps:
    """How many steps each device has time for: one to all of them, or none every other time."""

    def some(round_: int, device: int, samples: int) -> int | None:
        chance = derive_seed(seed, "time", round_, device) % EXACT / EXACT
        if case == ABSENT:
            return 0 if chance < 0.5 else None
        return 1 + int(chance * epochs * (samples // 10))

    return some if case in (LATE, ABSENT) else all_steps


def figures(tasks: Tasks, found: Mapping[str, Sequence[float]]) -> Iterator[Figure]:
    case = "related tasks: error of the devices"
    worst = max(mine / alone for mine, alone in zip(found[MOCHA], found[ALONE], strict=True))
    below = sum(mine < all_ for mine, all_ in zip(found[MOCHA], found[GLOBAL], strict=True))
    targets = {
        MOCHA: f"alone; target ≤ {tasks.most_error:g}× on every seed, at worst {worst:.2f}×; "
        f"below one model for all on {below} of {len(found[MOCHA])} seeds",
        f"{MOCHA}; {ALIKE}": "control: one model for all expected to win",
    }
    for name in (*ARMS, *CONTROLS):
        ratio = mean(found[ALONE]) / mean(found[MOCHA]) if name == MOCHA else None
        yield Figure(case, name, mean(found[name]), "%", targets.get(name), ratio)
