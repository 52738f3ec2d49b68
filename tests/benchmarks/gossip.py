"""Gossip against FedAvg on digits of which each device has few: accuracy, what is sent, and with devices away.

Sixteen devices with shares of scikit-learn's digits (Dirichlet 0.1 over the classes: most have two or three), a network
of one hidden layer, five local steps of eight samples before each of a hundred meetings, and four meetings more at the
end without steps. Training, groups, averages and encodings are those of agents; only the network between them is left
out. Accuracy is that of each device's own model on digits that none has, averaged over devices and seeds; FedAvg's is
that of its version, after as many rounds, and that of walkers is that of the version that comes of the model that each
device had after its last meeting. A device that is away neither trains nor meets, and keeps what it has; one
that comes back begins with the model of one that was there, as agents do. Models sent are bytes of all messages'
bodies, a device and meeting, over those of a model in float32.

Clipped: each mixes by itself and bounds what one other can do. Then one of the sixteen sends something else than its
model, and accuracy is that of the others.

Controls: on a ring, each with its two neighbours (D-PSGD with weights of a third) and otherwise the same, what is
learned travels slowly; and with data of the same distribution everywhere all do alike, so that these show nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache, partial
from typing import NamedTuple, cast

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
from coterie_learning.clipping import MOST_ASKED, most_agreed
from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.fold import CountedUpdate, fold_in_memory
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


Poison = Callable[[Tensors, Sequence[Tensors]], Tensors]
"""What is sent in place of the own model, given those of the others at the meeting."""
POISONER = "device-03"


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
        self.clips, self.poison = False, cast(Poison | None, None)
        self.named: Counter[str] = Counter()
        """How often a device's model was named for lying far off."""

    def go(self, arm: "Arm", *, away: float) -> float:
        """The mean accuracy of the devices' models at the end, without that of one that poisons the others'."""
        honest = [name for name in self.names if arm.poison is None or name != POISONER]
        self.clips, self.poison = arm.clips, arm.poison
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
            come_home(self, self.models, honest, MEETINGS)
        return float(np.mean([self._accuracy(self.models[name]) for name in honest]))

    def _catch_up(self, back: Sequence[str], met: Sequence[str], rng: np.random.Generator) -> None:
        for name in back if met else ():
            self._take_over(name, [met[at] for at in rng.permutation(len(met))])

    def _drawn(self, walkers: int, there: Sequence[str], meeting: int) -> Sequence[str]:
        """Those of the meeting's walkers that are there, each with a model of one that met before."""
        drawn = [name for name in walkers_of(self.names, meeting, walkers=walkers, seed=self.seed) if name in there]
        for name in drawn:
            self._hop(name, there)
        if drawn:
            self.walked.append(drawn)
        return drawn

    def _hop(self, name: str, there: Sequence[str]) -> None:
        known: dict[str, None] = {}
        for group in reversed(self.walked):
            if name in group:
                break
            known |= dict.fromkeys(other for other in group if other in there)
            if len(known) >= MOST_ASKED:
                break
        self._take_over(name, list(known))

    def _take_over(self, name: str, others: Sequence[str]) -> None:
        asked = others[: MOST_ASKED if self.clips else 1]
        wholes = [encode_whole(self.sent_by(other, others), self.codec, seed=self.seed) for other in asked]
        self.sent_bytes += sum(map(len, wholes))
        models = [decode_whole(whole, self.codec, self.specs) for whole in wholes]
        if self.clips:
            self.models[name] = most_agreed(self.models[name], models)
        elif models:
            self.models[name] = models[0]

    def sent_by(self, name: str, there: Sequence[str]) -> Tensors:
        """What the others are sent as its model."""
        own = self.models[name]
        if self.poison is None or name != POISONER or len(there) == 1:
            return own
        return self.poison(own, [self.models[other] for other in there if other != name])

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
        counted.append(CountedUpdate(partial(nullcontext, contents.open(InMemory(payload), ())), run.weight(name)))
    run.version = fold_in_memory(FedAvg(), run.specs, counted, run.version, None).parameters
    models.update(dict.fromkeys(models, run.version))
    return sent_bytes


def gossip(group: int, run: Run, models: Models, there: Sequence[str], meeting: int) -> None:
    """Groups of all devices, of which those meet that are there."""
    for members in groups_of(list(models), meeting, group=group, seed=run.seed):
        meet(run, models, [name for name in members if name in there], meeting)


def meet(run: Run, models: Models, there: Sequence[str], meeting: int) -> None:
    """One group."""
    sent = {name: run.sent_by(name, there) for name in there}
    guests = {name: Guest(sent[name], run.weight(name), derive_seed(run.seed, name)) for name in there}
    if guests:
        met = hold_meeting(guests, specs=run.specs, codec=run.codec, meeting=meeting, clips=run.clips)
        models.update({name: one for name, one in met.difference.items() if sent[name] is models[name]})
        run.sent_bytes += sum(met.sent_bytes.values())
        run.named.update(met.far)


def tenfold(own: Tensors, honest: Sequence[Tensors]) -> Tensors:
    """Ten times what was learned, up to 10."""
    return {name: np.clip(10 * tensor, -10, 10) for name, tensor in own.items()}


def near(own: Tensors, honest: Sequence[Tensors]) -> Tensors:
    """Against what the others have learned, as far from their mean as they are."""
    means = {name: np.mean([one[name] for one in honest], axis=0) for name in own}
    apart = np.median([_norm({name: one[name] - means[name] for name in own}) for one in honest])
    back = np.float32(apart / max(_norm(means), 1e-12))
    return {name: (mean - back * mean).astype(np.float32) for name, mean in means.items()}


def _norm(tensors: Tensors) -> float:
    return float(np.sqrt(sum(float(np.square(tensor, dtype=np.float64).sum()) for tensor in tensors.values())))


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
    clips: bool = False
    """Whether each device mixes by itself, and bounds what one of the others can do."""
    poison: Poison | None = None
    """What one device sends in place of its model."""


class Found(NamedTuple):
    """What an arm came to, over all seeds."""

    accuracy: float
    sent: Sent
    named: Counter[str]
    """How often devices were named for lying far off."""


FED_AVG = Arm("FedAvg", fed_avg, Float32Codec(), catches_up=False, settling=0)
GOSSIP = Arm("gossip in groups of 4", partial(gossip, 4), Float32Codec())
CODED = Arm("gossip in groups of 4, int8", partial(gossip, 4), Int8())
PAIRS = Arm("gossip in pairs", partial(gossip, 2), Float32Codec())
WALKERS = Arm("4 walkers", meet, Float32Codec(), catches_up=False, settling=0, walkers=4)
CODED_WALKERS = WALKERS._replace(name="4 walkers, int8", codec=Int8())
WALKER = WALKERS._replace(name="1 walker", walkers=1)
CLIPPED, CODED_CLIPPED, CLIPPED_WALKERS, CODED_CLIPPED_WALKERS = (
    arm._replace(name=f"{arm.name}, clipped", clips=True) for arm in (GOSSIP, CODED, WALKERS, CODED_WALKERS)
)
RING = Arm("ring", ring, Float32Codec())


ARMS = (GOSSIP, CODED, WALKERS, CODED_WALKERS)
CLOSE, NOTHING, LOSES, UNSEEN = "target >= -2", "control: shows nothing", "control: loses", "control: goes unseen"


def measure() -> list[Figure]:
    robust = dict.fromkeys((CLIPPED, CODED_CLIPPED, CLIPPED_WALKERS, CODED_CLIPPED_WALKERS), CLOSE)
    every = {**dict.fromkeys(ARMS, CLOSE), **robust}
    return [
        *_figures("few classes a device", SKEWED, 0.0, {**every, PAIRS: "-", WALKER: "-"}, -5),
        *_figures(
            "30 % away each time", SKEWED, AWAY, {**every, **dict.fromkeys((CLIPPED, CODED_CLIPPED, WALKER), LOSES)}, -5
        ),
        *_figures("the same data everywhere", ALIKE, 0.0, dict.fromkeys((GOSSIP, WALKERS, CLIPPED), NOTHING), None),
        *_attacks("one sends ten times its model", tenfold, 0.0, {**dict.fromkeys((GOSSIP, WALKERS), LOSES), **robust}),
        *_attacks("one sends ten times its model, 30 % away", tenfold, AWAY, {CLIPPED: CLOSE, CLIPPED_WALKERS: CLOSE}),
        *_attacks("one sends the others' mean, turned back", near, 0.0, dict.fromkeys((GOSSIP, CLIPPED), UNSEEN)),
    ]


def _attacks(case: str, poison: Poison, away: float, arms: dict[Arm, str]) -> Iterator[Figure]:
    """Against FedAvg that nobody attacks."""
    star = _found(FED_AVG, SKEWED, away)
    for arm, target in arms.items():
        found = _found(arm._replace(poison=poison), SKEWED, away)
        points = 100 * (found.accuracy - star.accuracy)
        named, all_named = found.named[POISONER], found.named.total()
        told = f"{100 * found.accuracy:.1f} %; it is named {named} times, others {all_named - named}; {target}"
        yield Figure(f"{case}: {arm.name}", "accuracy against FedAvg's", points, "points", told)


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
    accuracies, sent, named = [], [], Counter[str]()
    for seed in SEEDS:
        run = Run(fleet_of(skew, seed), arm.codec, seed)
        accuracies.append(run.go(arm, away=away))
        sent.append(run.models_sent)
        named.update(run.named)
    return Found(float(np.mean(accuracies)), Sent(*np.mean(sent, axis=0).tolist()), named)
