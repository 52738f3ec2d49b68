"""Runs a plan, or a baseline, on a scenario, with virtual devices on a simulated clock."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from coterie.evaluation.datasets import Dataset
from coterie.simulation.baselines.centralised import Centralised
from coterie.simulation.baselines.distributed import Distributed
from coterie.simulation.clouds import AveragingCloud, Cloud
from coterie.simulation.contenders import Contender, contender_document
from coterie.simulation.device import Device, make_devices
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.helping import Helping
from coterie.simulation.learner import Learner
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.local_training import LocalTraining
from coterie.simulation.outcome import DeviceOutcome, Outcome, Recovery, accuracies, by_tick, summary
from coterie.simulation.pooling import Pooling, Retraining, train_on
from coterie.simulation.progress import Progress, Report
from coterie.simulation.recovery import batches_to_recover
from coterie.simulation.rounds import Rounds
from coterie.simulation.scenario import Scenario
from coterie.simulation.sharing_out import SharingOut
from coterie.simulation.streams import Drawn
from coterie.simulation.world import Part, World
from coterie_learning.client.whole_batches import waits_for_a_batch
from coterie_learning.device_plan import LOCAL
from coterie_learning.kinds import Resources
from coterie_learning.local import Local
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason, Requirements

if TYPE_CHECKING:
    from coterie.simulation.cloud_model import CloudModel, Pair
    from coterie.simulation.distilling_cloud import DistillingCloud


class _Parts(NamedTuple):
    every: Sequence[Part]
    rounds: Rounds | None = None
    helping: Helping | None = None
    distilling: "DistillingCloud | None" = None


def simulate(
    contender: Contender, scenario: Scenario, *, devices: int, seed: int, report: Report, most_rounds: int | None = None
) -> Outcome:
    """Run the scenario to its end; the same arguments give the same outcome. After `most_rounds` no more are held.

    Raises DoesNotFit or MissingPackage.
    """
    drawn = scenario.stream.draw(devices=devices, seed=derive_seed(seed, "stream"))
    local = _local(contender)
    first = scenario.learner.begin(drawn.task, local, seed=derive_seed(seed, "learner"))
    cloud = _bootstrapped(scenario, drawn, first, seed=derive_seed(seed, "cloud"))
    if cloud is not None:
        first = cloud.learner
    if isinstance(contender, Plan) and isinstance(first, NeuralLearner):
        check_plan_fits(contender, first.graphs.spec, cloud_model=cloud is not None, cloud_data=cloud is not None)
    requirements = contender.requirements if isinstance(contender, Plan) else NOTHING_ASKED
    world = World(scenario, drawn, make_devices(scenario, requirements, first, count=devices, seed=seed), seed)
    parts = _parts(contender, world, first, local, cloud, most_rounds)
    for part in parts.every:
        part.begin()
    _run(world, parts, report)
    return _outcome(contender, world, parts)


def check_plan_fits(plan: Plan, model: ModelSpec, *, cloud_model: bool, cloud_data: bool) -> None:
    """Check what the platform checks of a federation's plan. Raises DoesNotFit, with the kind's own sentence."""
    resources = Resources(
        cloud_data=cloud_data,
        teacher_problem=None if cloud_model else "the scenario has no cloud model: no [bootstrap]",
        one_model=plan.pace.holds_rounds(),
    )
    for slot, reason in plan.misfits(model, resources):
        raise DoesNotFit(detail=f"{slot} {plan.kind_in(slot).name}: {reason.sentence}")


class _Cloud(NamedTuple):
    """The cloud model, its first pair, and the device model of it."""

    model: "CloudModel"
    pair: "Pair"
    learner: NeuralLearner


def _bootstrapped(scenario: Scenario, drawn: Drawn, first: Learner, *, seed: int) -> _Cloud | None:
    if scenario.bootstrap is None:
        return None
    if not isinstance(first, NeuralLearner):
        raise DoesNotFit(detail="only a neural network can be made of a cloud model")
    from coterie.simulation.cloud_model import CloudModel  # only now: PyTorch takes seconds to import

    model = CloudModel(drawn.task, scenario.bootstrap, seed=seed)
    pair = model.first_pair(first, drawn.cloud, seed=seed)
    return _Cloud(model, pair, first.beginning_with(pair.device))


NOTHING_ASKED = Requirements(charging=False, unmetered=False)


def _local(contender: Contender) -> Local:
    """How devices train outside of rounds; where there are none, that is all the training there is."""
    if isinstance(contender, Distributed):  # epochs are passes over all shares
        return LOCAL.parse({"kind": "sgd", "epochs": 1, "learning_rate": contender.learning_rate})
    if isinstance(contender, Centralised):
        return LOCAL.parse({"kind": "sgd", "epochs": contender.epochs, "learning_rate": contender.learning_rate})
    assert isinstance(contender, Plan)
    return contender.local.between_rounds() if contender.pace.holds_rounds() else contender.local


def _parts(
    contender: Contender, world: World, first: Learner, local: Local, cloud: _Cloud | None, most_rounds: int | None
) -> _Parts:
    if isinstance(contender, Centralised):
        return _Parts((_pooling(contender, world, first, local, cloud),))
    if isinstance(contender, Distributed):
        trains = SharingOut(contender, world.ledger)
        return _Parts((Pooling(world, first=first, period_s=contender.period_s, trains=trains),))
    assert isinstance(contender, Plan)
    rules = contender.help.rules()
    helping = None if rules is None else Helping(world, contender, rules)
    rounds, distilling = None, None
    if contender.pace.holds_rounds():
        rounds, distilling = _rounds(contender, world, first, cloud, most_rounds)
    own = _local_training(contender, world, local, rounds)
    return _Parts(tuple(part for part in (helping, own, rounds) if part is not None), rounds, helping, distilling)


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
    plan: Plan, world: World, first: Learner, cloud: _Cloud | None, most: int | None
) -> tuple[Rounds, "DistillingCloud | None"]:
    if not isinstance(first, NeuralLearner):
        raise DoesNotFit(detail="rounds merge the parameters of neural networks, and the scenario has another learner")
    merger, distilling = _merger(plan, world, first, cloud)
    return Rounds(world, plan, merger, most), distilling


def _pooling(centralised: Centralised, world: World, first: Learner, local: Local, cloud: _Cloud | None) -> Pooling:
    answers = centralised.answers == "cloud"
    if centralised.model == "device":
        return Pooling(world, first=first, period_s=centralised.period_s, trains=train_on, answers=answers)
    if cloud is None:
        raise DoesNotFit(detail="the baseline asks for the cloud model, and the scenario has none: no [bootstrap]")
    retraining = Retraining(cloud.model, world.drawn.cloud, local)
    first = cloud.model.learner(cloud.pair.cloud, local)
    return Pooling(world, first=first, period_s=centralised.period_s, trains=retraining, answers=answers)


def _merger(
    plan: Plan, world: World, first: NeuralLearner, cloud: _Cloud | None
) -> tuple[Cloud, "DistillingCloud | None"]:
    if plan.merge.reads != "models":
        if plan.local.needs_teacher():
            raise DoesNotFit(detail="devices learn from a cloud model only under merge distill")
        samples = None if cloud is None else world.drawn.cloud
        seed = world.seed_of("cloud")
        return AveragingCloud(plan, first, fleet=len(world.devices), seed=seed, samples=samples), None
    if cloud is None:
        raise DoesNotFit(detail="merge distill asks for a cloud model, and the scenario has none: no [bootstrap]")
    from coterie.simulation.distilling_cloud import DistillingCloud  # only now: PyTorch takes seconds to import

    distilling = DistillingCloud(world, plan, cloud.model, first, cloud.pair)
    return distilling, distilling


def _run(world: World, parts: _Parts, report: Report) -> None:
    """Every device meets its batch of a tick at the same moment, in the order of their numbers."""
    ticks = len(world.drawn.batches[0])
    total_s = ticks * world.drawn.tick_s

    def tell() -> None:
        share, rounds = min(1.0, world.clock.now_s / total_s), parts.rounds
        report(Progress(share, len(rounds.outcomes), rounds.most) if rounds else Progress(share, 0))

    def meet(device: Device, batch: Dataset) -> None:
        predicted = device.meet(batch, world.clock.now_s)
        if len(batch.labels):
            for part in parts.every:
                part.on_batch(device, batch, predicted.classes)

    for tick in range(ticks):
        world.clock.run(until_s=(tick + 1) * world.drawn.tick_s, after_each=tell)
        for device in world.devices:
            meet(device, world.drawn.batches[device.number][tick])
        tell()


def _outcome(contender: Contender, world: World, parts: _Parts) -> Outcome:
    used = world.ledger.used()
    return Outcome(
        plan=contender_document(contender),
        scenario=world.scenario.title,
        seed=world.seed,
        tick_s=world.drawn.tick_s,
        devices=tuple(
            DeviceOutcome(
                name=device.name,
                samples=tuple(device.samples),
                correct=tuple(device.correct),
                accuracy=next(iter(accuracies([device])), None),
                group=_group(parts, device),
                untrained=_why_untrained(contender, device),
            )
            for device in world.devices
        ),
        accuracy=summary(accuracies(world.devices)),
        accuracy_by_tick=by_tick(world.devices),
        bytes_by_kind=used.bytes_by_kind,
        messages_by_kind=used.messages_by_kind,
        trained_s=used.trained_s,
        rounds=tuple(parts.rounds.outcomes) if parts.rounds else (),
        help=tuple(parts.helping.outcomes) if parts.helping else (),
        splits=tuple(parts.distilling.splits) if parts.distilling else (),
        recoveries=_recoveries(world),
    )


def _group(parts: _Parts, device: Device) -> str | None:
    return parts.distilling.lineage_of(device) or None if parts.distilling else None


def _why_untrained(contender: Contender, device: Device) -> Reason | None:
    trains = isinstance(contender, Plan) and contender.device.local_training_every_s is not None
    if not trains or device.learner.batch_size is None:
        return None
    return waits_for_a_batch(sum(len(arrived.batch.labels) for arrived in device.window), device.learner.batch_size)


def _recoveries(world: World) -> tuple[Recovery, ...]:
    ticks = len(world.drawn.batches[0])
    found = []
    for shift in world.drawn.shifts:
        device = world.devices[shift.device]
        errors = [
            1 - correct / samples if samples else 0.0
            for correct, samples in zip(device.correct, device.samples, strict=True)
        ]
        later = [other.tick for other in world.drawn.shifts if other.device == shift.device and other.tick > shift.tick]
        until = min(later, default=ticks)
        found.append(Recovery(device.name, shift.tick, batches_to_recover(errors, shift=shift.tick, until=until)))
    return tuple(found)
