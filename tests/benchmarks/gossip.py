"""Gossip against FedAvg on digits of which each device has few: accuracy, what is sent, and with devices away.

Sixteen devices with shares of scikit-learn's digits (Dirichlet 0.1 over the classes: most have two or three), a network
of one hidden layer, five local steps of eight samples before each of a hundred meetings, and four meetings more at the
end without steps. Training, groups, averages and encodings are those of agents; only the network between them is left
out. Accuracy is that of each device's own model on digits that none has, averaged over devices and seeds; FedAvg's is
that of its version, after as many rounds, and that of walkers is that of the version that comes of the model that each
device had after its last meeting. A device that is away neither trains nor meets, and keeps what it has; one
that comes back begins with the model of one that was there, as agents do. Models sent are bytes of all messages'
bodies, a device and meeting, over those of a model in float32.

Controls: on a ring, each with its two neighbours (D-PSGD with weights of a third) and otherwise the same, what is
learned travels slowly; and with data of the same distribution everywhere all do alike, so that these show nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.digits import read_digits
from coterie.evaluation.scoring import predict_logits
from coterie.simulation.learner import Task
from coterie.simulation.learners.neural import Neural, NeuralLearner
from coterie.simulation.meetings import Guest, hold_meeting
from coterie.simulation.on_device import Rows, run_training
from coterie_learning.client.round import local_training
from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.fold import Counted, fold_in_memory
from coterie_learning.local.sgd import Sgd
from coterie_learning.meetings import decode_whole, encode_whole, groups_of
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.random import derive_seed
from coterie_learning.update_files import Contents
from coterie_learning.updates import join_update
from coterie_learning.walkers import walkers_of
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Tensors
from tests.benchmarks.report import Figure

DEVICES, MEETINGS, STEPS, BATCH, SEEDS = 16, 100, 5, 8, (0, 1, 2)
LOCAL = Sgd(epochs=1, learning_rate=0.1)
AWAY = 0.3
SKEWED, ALIKE = 0.1, 100.0


class Fleet(NamedTuple):
    """Devices with their samples, and the digits that none has."""

    first: NeuralLearner
    samples: Sequence[Dataset]
    unseen: Dataset


class Sent(NamedTuple):
    """Models that a device sends to a meeting."""

    of_all: float
    """Of all that are not away."""
    of_drawn: float
    """Of those that come to it."""


Models = dict[str, Tensors]
"""By device, the difference of its parameters from the first version's."""
Mix = Callable[["Run", Models, Sequence[str], int], None]
"""Mixes the models of the devices that are there, in one meeting."""


class Run:
    """One fleet through all meetings."""

    def __init__(self, fleet: Fleet, codec: Codec, seed: int) -> None:
        self.fleet, self.codec, self.seed = fleet, codec, seed
        self.specs = fleet.first.graphs.spec.parameters
        self.names = [f"device-{number:02}" for number in range(len(fleet.samples))]
        self.sent_bytes = self.meetings = self.came = 0
        nothing = {spec.name: np.zeros(spec.shape, np.float32) for spec in self.specs}
        self.models: Models = dict.fromkeys(self.names, nothing)
        self.version: Tensors = nothing
        """Of FedAvg."""
        self.walked: list[Sequence[str]] = []
        """Who was at the meetings so far, where few are drawn for each."""

    def go(self, arm: "Arm", *, away: float) -> float:
        """The mean accuracy of the devices' models at the end."""
        rng = np.random.default_rng([self.seed, 7])
        before = self.names
        for meeting in range(MEETINGS + arm.settling):
            there = [name for name in self.names if rng.random() >= away]
            if arm.catches_up:
                self._catch_up([name for name in there if name not in before], [n for n in there if n in before], rng)
            drawn = there if arm.walkers is None else self._drawn(arm.walkers, there, meeting)
            for name in drawn if meeting < MEETINGS else ():
                self.models[name] = self._trained(name, meeting)
            arm.mix(self, self.models, drawn, meeting)
            self.came += len(drawn)
            self.meetings += len(there)
            before = there
        if arm.walkers is not None:
            come_home(self, self.models, self.names, MEETINGS)
        return float(np.mean([self._accuracy(model) for model in self.models.values()]))

    def _catch_up(self, back: Sequence[str], met: Sequence[str], rng: np.random.Generator) -> None:
        for name in back if met else ():
            self._take_over(name, met[int(rng.integers(len(met)))])

    def _drawn(self, walkers: int, there: Sequence[str], meeting: int) -> Sequence[str]:
        """Those of the meeting's walkers that are there, each with a model of one that met before."""
        drawn = [name for name in walkers_of(self.names, meeting, walkers=walkers, seed=self.seed) if name in there]
        for name in drawn:
            self._hop(name, there)
        if drawn:
            self.walked.append(drawn)
        return drawn

    def _hop(self, name: str, there: Sequence[str]) -> None:
        for group in reversed(self.walked):
            if name in group:
                return  # it was at the last meeting of which anybody is there
            if known := [other for other in group if other in there]:
                self._take_over(name, known[0])
                return

    def _take_over(self, name: str, other: str) -> None:
        whole = encode_whole(self.models[other], self.codec, seed=self.seed)
        self.sent_bytes += len(whole)
        self.models[name] = decode_whole(whole, self.codec, self.specs)

    @property
    def models_sent(self) -> Sent:
        """Over those of a model in float32."""
        models = self.sent_bytes / (4 * sum(tensor.size for tensor in self.version.values()))
        return Sent(models / self.meetings, models / self.came)

    def weight(self, name: str) -> int:
        return len(self.fleet.samples[self.names.index(name)].labels)

    def _trained(self, name: str, meeting: int) -> Tensors:
        data, first = self.fleet.samples[self.names.index(name)], self.fleet.first
        begun = self.parameters(self.models[name])
        ids = range(1, len(data.labels) + 1)
        training = local_training(
            LOCAL,
            first.graphs.spec,
            first.graphs.open_steps,
            personal=begun,
            received=begun,
            ids=ids,
            seen=(),
            seed=derive_seed(self.seed, name, meeting),
        )
        trained = run_training(training, first.graphs, Rows(data, first.graphs.spec, ids), steps_allowed=STEPS)
        return {spec.name: trained[spec.name] - first.parameters[spec.name] for spec in self.specs}

    def parameters(self, difference: Tensors) -> Tensors:
        return {name: tensor + difference[name] for name, tensor in self.fleet.first.parameters.items()}

    def _accuracy(self, difference: Tensors) -> float:
        unseen = self.fleet.unseen
        logits = predict_logits(self.fleet.first.graphs.predict, self.parameters(difference), unseen)
        return float((logits.argmax(axis=1) == unseen.labels).mean())


def fed_avg(run: Run, models: Models, there: Sequence[str], meeting: int) -> None:
    """All who are there send their updates, and everybody begins with the version that comes of them."""
    run.sent_bytes += come_home(run, models, there, meeting)


def come_home(run: Run, models: Models, there: Sequence[str], meeting: int) -> int:
    """Bytes that are sent until everybody has the version of the models of those who are there."""
    contents, counted = Contents(run.fleet.first.graphs.spec, run.codec, LOCAL), []
    sent_bytes = 0
    for name in there:
        update = {part: models[name][part] - run.version[part] for part in run.version}
        payload = join_update({}, run.codec.encode(update, seed=derive_seed(run.seed, "up", name, meeting)).payload)
        sent_bytes += len(payload)
        counted.append(Counted(partial(nullcontext, contents.open(InMemory(payload), ())), run.weight(name)))
    run.version = fold_in_memory(FedAvg(), run.specs, counted, run.version, None).parameters
    models.update(dict.fromkeys(models, run.version))
    return sent_bytes


def gossip(group: int, run: Run, models: Models, there: Sequence[str], meeting: int) -> None:
    """Groups of all devices, of which those meet that are there."""
    for members in groups_of(list(models), meeting, group=group, seed=run.seed):
        meet(run, models, [name for name in members if name in there], meeting)


def meet(run: Run, models: Models, there: Sequence[str], meeting: int) -> None:
    """One group."""
    guests = {name: Guest(models[name], run.weight(name), derive_seed(run.seed, name)) for name in there}
    if guests:
        met = hold_meeting(guests, specs=run.specs, codec=run.codec, meeting=meeting)
        models.update(met.difference)
        run.sent_bytes += sum(met.sent_bytes.values())


def ring(run: Run, models: Models, there: Sequence[str], meeting: int) -> None:
    """Each averages with its neighbours left and right, as they were before."""
    names, before = list(models), dict(models)
    for place, name in enumerate(names):
        near = [one for one in (names[place - 1], name, names[(place + 1) % len(names)]) if one in there]
        if name in there:
            run.sent_bytes += (len(near) - 1) * 4 * sum(tensor.size for tensor in models[name].values())
            models[name] = {
                part: np.mean([before[one][part] for one in near], axis=0, dtype=np.float32) for part in models[name]
            }


@cache
def fleet_of(skew: float, seed: int) -> Fleet:
    """Digits divided over devices, each class by shares that a Dirichlet distribution gives."""
    images, labels = read_digits()
    rng = np.random.default_rng([seed, 11])
    order = rng.permutation(len(labels))
    unseen, known = order[:360], order[360:]
    parts: list[list[int]] = [[] for _ in range(DEVICES)]
    for digit in range(10):
        rows = known[labels[known] == digit]
        cuts = (np.cumsum(rng.dirichlet([skew] * DEVICES))[:-1] * len(rows)).astype(int)
        for part, found in zip(parts, np.split(rows, cuts), strict=True):
            part.extend(found.tolist())
    for part in parts:  # nobody has less than a batch
        part.extend(rng.choice(known, max(0, BATCH - len(part)), replace=False).tolist())
    first = Neural(hidden=32, batch_size=BATCH).begin(
        Task((TensorSpec("x", "float32", (1, 8, 8)),), 10), LOCAL, seed=seed
    )

    def taken(rows: Sequence[int] | NDArray[np.int64]) -> Dataset:
        return Dataset({"x": images[rows]}, labels[rows])

    return Fleet(first, [taken(part) for part in parts], taken(unseen))


class Arm(NamedTuple):
    """One way to learn together."""

    name: str
    mix: Mix
    codec: Codec
    catches_up: bool = True
    settling: int = 4
    walkers: int | None = None
    """Devices that are drawn for each meeting; None: all come."""


class Found(NamedTuple):
    """What an arm came to, over all seeds."""

    accuracy: float
    sent: Sent


FED_AVG = Arm("FedAvg", fed_avg, Float32Codec(), catches_up=False, settling=0)
GOSSIP = Arm("gossip in groups of 4", partial(gossip, 4), Float32Codec())
CODED = Arm("gossip in groups of 4, int8", partial(gossip, 4), Int8())
PAIRS = Arm("gossip in pairs", partial(gossip, 2), Float32Codec())
WALKERS = Arm("4 walkers", meet, Float32Codec(), catches_up=False, settling=0, walkers=4)
CODED_WALKERS = WALKERS._replace(name="4 walkers, int8", codec=Int8())
WALKER = WALKERS._replace(name="1 walker", walkers=1)
RING = Arm("ring", ring, Float32Codec())


ARMS = (GOSSIP, CODED, WALKERS, CODED_WALKERS)
CLOSE, NOTHING = "target >= -2", "control: shows nothing"


def measure() -> list[Figure]:
    return [
        *_figures("few classes a device", SKEWED, 0.0, {**dict.fromkeys(ARMS, CLOSE), PAIRS: "-", WALKER: "-"}, -5),
        *_figures("30 % away each time", SKEWED, AWAY, {**dict.fromkeys(ARMS, CLOSE), WALKER: "control: loses"}, -5),
        *_figures("the same data everywhere", ALIKE, 0.0, dict.fromkeys((GOSSIP, WALKERS), NOTHING), None),
    ]


def _figures(case: str, skew: float, away: float, arms: dict[Arm, str], ring_loses: int | None) -> Iterator[Figure]:
    star = _found(FED_AVG, skew, away)
    yield Figure(f"{case}: {FED_AVG.name}", "accuracy", 100 * star.accuracy, "%")
    controlled = NOTHING if ring_loses is None else f"control: <= {ring_loses}"
    for arm, target in {**arms, RING: controlled}.items():
        found = _found(arm, skew, away)
        name = f"{case}: {arm.name}"
        points = 100 * (found.accuracy - star.accuracy)
        yield Figure(name, "accuracy against FedAvg's", points, "points", f"{100 * found.accuracy:.1f} %; {target}")
        at_it = "" if arm.walkers is None else f"{found.sent.of_drawn:.2f} by one that comes to it; "
        yield Figure(name, "sent by a device to a meeting", found.sent.of_all, "models", f"{at_it}target <= 2")


def _found(arm: Arm, skew: float, away: float) -> Found:
    accuracies, sent = [], []
    for seed in SEEDS:
        run = Run(fleet_of(skew, seed), arm.codec, seed)
        accuracies.append(run.go(arm, away=away))
        sent.append(run.models_sent)
    return Found(float(np.mean(accuracies)), Sent(*np.mean(sent, axis=0).tolist()))
