"""The components of a simulation that a plan or a baseline needs, and their run until all samples have arrived."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from coterie.evaluation.datasets import Dataset
from coterie.simulation.baselines.centralised import Centralised
from coterie.simulation.baselines.distributed import Distributed
from coterie.simulation.clouds import AveragingCloud, Cloud
from coterie.simulation.contenders import Contender
from coterie.simulation.device import Device
from coterie.simulation.distributed_baseline import DistributedBaseline
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.helping import Helping
from coterie.simulation.learner import Learner
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.local_training import LocalTraining
from coterie.simulation.pooling import Pooling, Retraining, train_on
from coterie.simulation.progress import Report, SimulationProgress
from coterie.simulation.rounds import Rounds
from coterie.simulation.world import Component, World
from coterie_learning.device_plan import LOCAL
from coterie_learning.local import Local
from coterie_learning.plan import Plan

if TYPE_CHECKING:
    from coterie.simulation.cloud_model import CloudModel, Pair
    from coterie.simulation.distilling_cloud import DistillingCloud


class Components(NamedTuple):
    """All components of one simulation."""

    every: Sequence[Component]
    rounds: Rounds | None = None
    helping: Helping | None = None
    distilling: "DistillingCloud | None" = None


class Bootstrapped(NamedTuple):
    """The cloud model, its first pair, and that pair's device model."""

    model: "CloudModel"
    pair: "Pair"
    learner: NeuralLearner


def local_of(contender: Contender) -> Local:
    """How devices train outside of rounds; without rounds, this is the only training."""
    if isinstance(contender, Distributed):  # epochs are passes over all shares
        return LOCAL.parse({"kind": "sgd", "epochs": 1, "learning_rate": contender.learning_rate})
    if isinstance(contender, Centralised):
        return LOCAL.parse({"kind": "sgd", "epochs": contender.epochs, "learning_rate": contender.learning_rate})
    assert isinstance(contender, Plan)
    return contender.local.between_rounds() if contender.pace.holds_rounds() else contender.local


def make_parts(
    contender: Contender,
    world: World,
    first: Learner,
    cloud: Bootstrapped | None,
    *,
    samples: Dataset | None = None,
    most_rounds: int | None = None,
) -> Components:
    """Make and begin all components; `samples` are the platform's own, for merges that use some. Raises DoesNotFit."""
    local = local_of(contender)
    parts = _parts(contender, world, first, local, cloud, samples, most_rounds)
    for part in parts.every:
        part.begin()
    return parts


def _parts(
    contender: Contender,
    world: World,
    first: Learner,
    local: Local,
    cloud: Bootstrapped | None,
    samples: Dataset | None,
    most_rounds: int | None,
) -> Components:
    if isinstance(contender, Centralised):
        return Components((_pooling(contender, world, first, local, cloud),))
    if isinstance(contender, Distributed):
        trains = DistributedBaseline(contender, world.ledger)
        return Components((Pooling(world, first=first, period_s=contender.period_s, trains=trains),))
    assert isinstance(contender, Plan)
    rules = contender.help.rules()
    helping = None if rules is None else Helping(world, contender, rules)
    rounds, distilling = None, None
    if contender.pace.holds_rounds():
        rounds, distilling = _rounds(contender, world, first, cloud, samples, most_rounds)
    own = _local_training(contender, world, local, rounds)
    return Components(tuple(part for part in (helping, own, rounds) if part is not None), rounds, helping, distilling)


def _local_training(plan: Plan, world: World, local: Local, rounds: Rounds | None) -> LocalTraining | None:
    every_s = plan.device.local_training_every_s
    if every_s is None:
        return None
    return LocalTraining(
        world,
        period_s=every_s,
        epochs=local.epochs_wanted(),
        spares_newest=plan.device.spares_newest,
        is_busy=rounds.is_busy if rounds else _never,
    )


def _never(_device: Device) -> bool:
    return False


def _rounds(
    plan: Plan, world: World, first: Learner, cloud: Bootstrapped | None, samples: Dataset | None, most: int | None
) -> tuple[Rounds, "DistillingCloud | None"]:
    if not isinstance(first, NeuralLearner):
        raise DoesNotFit(detail="rounds merge the parameters of neural networks, and the scenario has another learner")
    merger, distilling = _merger(plan, world, first, cloud, samples)
    return Rounds(world, plan, merger, most), distilling


def _pooling(
    centralised: Centralised, world: World, first: Learner, local: Local, cloud: Bootstrapped | None
) -> Pooling:
    answers = centralised.answers == "cloud"
    if centralised.model == "device":
        return Pooling(world, first=first, period_s=centralised.period_s, trains=train_on, answers=answers)
    if cloud is None:
        raise DoesNotFit(detail="the baseline asks for the cloud model, and the scenario has none: no [bootstrap]")
    retraining = Retraining(cloud.model, world.drawn.cloud, local)
    first = cloud.model.learner(cloud.pair.cloud, local)
    return Pooling(world, first=first, period_s=centralised.period_s, trains=retraining, answers=answers)


def _merger(
    plan: Plan, world: World, first: NeuralLearner, cloud: Bootstrapped | None, samples: Dataset | None
) -> tuple[Cloud, "DistillingCloud | None"]:
    if plan.merge.reads != "models":
        if plan.local.needs_teacher():
            raise DoesNotFit(detail="devices learn from a cloud model only under merge distill")
        seed = world.seed_of("cloud")
        return AveragingCloud(plan, first, fleet=len(world.devices), seed=seed, samples=samples), None
    if cloud is None:
        raise DoesNotFit(detail="merge distill asks for a cloud model, and the scenario has none: no [bootstrap]")
    from coterie.simulation.distilling_cloud import DistillingCloud  # imported here: PyTorch takes seconds to import

    distilling = DistillingCloud(world, plan, cloud.model, first, cloud.pair)
    return distilling, distilling


ROUNDING = 1e-9
"""Share of a tick: a tick that ends when the simulation does counts."""


def run_to_end(
    world: World, parts: Components, report: Report, *, until_s: float = 0.0, ends_s: float | None = None
) -> None:
    """All devices receive their batches of a tick at the same time, in the order of their numbers.

    It ends with the last tick, but not before `until_s`; or at `ends_s`, whatever is scheduled later.
    """
    ticks, tick_s = len(world.drawn.batches[0]), world.drawn.tick_s
    if ends_s is not None and ticks:
        ticks = min(ticks, int(ends_s / tick_s + ROUNDING))
    total_s = max(until_s, ticks * tick_s) if ends_s is None else ends_s

    def report_progress() -> None:
        share, rounds = min(1.0, world.clock.now_s / total_s), parts.rounds
        report(SimulationProgress(share, len(rounds.outcomes), rounds.most) if rounds else SimulationProgress(share, 0))

    def meet(device: Device, batch: Dataset) -> None:
        predicted = device.meet(batch, world.clock.now_s)
        if len(batch.labels):
            for part in parts.every:
                part.on_batch(device, batch, predicted.classes)

    for tick in range(ticks):
        world.clock.run(until_s=(tick + 1) * tick_s, after_each=report_progress)
        for device in world.devices:
            meet(device, world.drawn.batches[device.number][tick])
        report_progress()
    world.clock.run(until_s=total_s, after_each=report_progress)
