"""Runs a plan, or a baseline, on a scenario, with virtual devices on a simulated clock."""

from coterie.simulation.components import Bootstrapped, Components, local_of, make_parts, run_to_end
from coterie.simulation.contenders import Contender, contender_document
from coterie.simulation.device import Device, make_devices
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learner import Learner
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.outcome import DeviceOutcome, SimulationOutcome, accuracies, by_tick, summary
from coterie.simulation.progress import Report
from coterie.simulation.recovery import recoveries
from coterie.simulation.scenario import Scenario
from coterie.simulation.streams import Drawn
from coterie.simulation.world import World
from coterie_learning.client.whole_batches import waits_for_a_batch
from coterie_learning.kinds import Resources
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason, Requirements

NO_CLOUD_MODEL = "the scenario has no cloud model: no [bootstrap]"


def simulate(
    contender: Contender, scenario: Scenario, *, devices: int, seed: int, report: Report, most_rounds: int | None = None
) -> SimulationOutcome:
    """Run the scenario to its end; the same arguments give the same outcome. At most `most_rounds` are held.

    Raises DoesNotFit or MissingPackage.
    """
    drawn = scenario.stream.draw(devices=devices, seed=derive_seed(seed, "stream"))
    first = scenario.learner.begin(drawn.task, local_of(contender), seed=derive_seed(seed, "learner"))
    cloud = _bootstrapped(scenario, drawn, first, seed=derive_seed(seed, "cloud"))
    if cloud is not None:
        first = cloud.learner
    if isinstance(contender, Plan) and isinstance(first, NeuralLearner):
        problem = NO_CLOUD_MODEL if cloud is None else None
        check_plan_fits(contender, first.graphs.spec, teacher_problem=problem, cloud_data=cloud is not None)
    requirements = contender.requirements if isinstance(contender, Plan) else NOTHING_ASKED
    virtual = make_devices(scenario, requirements, first, count=devices, seed=seed)
    world = World(scenario.speed, scenario.begins_s, drawn, virtual, seed)
    samples = None if cloud is None else drawn.cloud
    parts = make_parts(contender, world, first, cloud, samples=samples, most_rounds=most_rounds)
    run_to_end(world, parts, report)
    return _outcome(contender, scenario, world, parts)


def check_plan_fits(plan: Plan, model: ModelSpec, *, teacher_problem: str | None, cloud_data: bool) -> None:
    """Check a plan as the platform does for a federation. Raises DoesNotFit, with the kind's own sentence.

    `teacher_problem` is why there is no cloud model that could teach; None: there is one.
    """
    resources = Resources(
        cloud_data=cloud_data,
        teacher_problem=teacher_problem,
        one_model=plan.pace.holds_rounds(),
    )
    for slot, reason in plan.misfits(model, resources):
        raise DoesNotFit(detail=f"{slot} {plan.kind_in(slot).name}: {reason.sentence}")


def _bootstrapped(scenario: Scenario, drawn: Drawn, first: Learner, *, seed: int) -> Bootstrapped | None:
    if scenario.bootstrap is None:
        return None
    if not isinstance(first, NeuralLearner):
        raise DoesNotFit(detail="only a neural network can be made of a cloud model")
    from coterie.simulation.cloud_model import CloudModel  # only now: PyTorch takes seconds to import

    model = CloudModel.with_body(drawn.task, scenario.bootstrap, seed=seed)
    pair = model.first_pair(first, drawn.cloud, seed=seed)
    return Bootstrapped(model, pair, first.beginning_with(pair.device))


NOTHING_ASKED = Requirements(charging=False, unmetered=False)


def _outcome(contender: Contender, scenario: Scenario, world: World, parts: Components) -> SimulationOutcome:
    used = world.ledger.used()
    return SimulationOutcome(
        plan=contender_document(contender),
        scenario=scenario.title,
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
        recoveries=recoveries(world),
    )


def _group(parts: Components, device: Device) -> str | None:
    return parts.distilling.lineage_of(device) or None if parts.distilling else None


def _why_untrained(contender: Contender, device: Device) -> Reason | None:
    trains = isinstance(contender, Plan) and contender.device.local_training_every_s is not None
    if not trains or device.learner.batch_size is None:
        return None
    return waits_for_a_batch(sum(len(arrived.batch.labels) for arrived in device.window), device.learner.batch_size)
