"""A fleet whose devices go through time does what the simulation on streams does of the same, to the last bit."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.cloud.preflight_job import PairMismatch
from coterie.compile.errors import MalformedUpload
from coterie.privacy.accounting import cost_of
from coterie.privacy.accounting import epsilon_of as charged
from coterie.privacy.models import DEFAULT_DELTA
from coterie.simulation.bodies import export_body
from coterie.simulation.clock import DAY_S
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.arrivals import Arrivals
from coterie.simulation.fleet.dividing import divided, population_of
from coterie.simulation.fleet.fleet_run import FleetRun, GivenCloud
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.profile import FleetProfile
from coterie.simulation.fleet.run_options import parse_drift
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.fleet.splits.dirichlet import Dirichlet
from coterie.simulation.fleet.splits.iid import Iid
from coterie.simulation.fleet.table import fleet_table
from coterie.simulation.learner import Task
from coterie.simulation.learners import LearnerKind
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.outcome import SimulationOutcome
from coterie.simulation.own_work import WINDOW
from coterie.simulation.progress import unreported
from coterie.simulation.scenario import Bootstrap, Habits, Scenario, Speed
from coterie.simulation.simulate import simulate
from coterie.simulation.streams import Drawn, Stream
from coterie_learning.local import Local
from coterie_learning.privacy import Spend
from coterie_learning.random import derive_seed
from coterie_wire.bundle import TensorSpec
from tests.coterie.simulation.fleet.fleets import CLASSES, IMAGE, NORMALISED, Network, run, samples

ALIKE = FleetProfile(speed=Speed(sample_s=0.05, spread=0.0))
ALONE: dict[str, object] = {"local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.1}, "pace": {"kind": "alone"}}
HELPED: dict[str, object] = {**ALONE, "help": {"kind": "cartel", "helper_recall": 0.5, "helper_error": 0.5}}
SPACED = {"kind": "sync", "target_updates": 4, "min_updates": 2, "over_selection": 1.5, "pause_s": 3600}
TAUGHT: dict[str, object] = {
    "local": {"kind": "distill", "learning_rate": 0.3, "epochs": 10, "patience": 10, "period_days": 2},
    "merge": {"kind": "distill", "lambda_c": 0.2, "epochs": 4, "device_epochs": 4},
    "pace": {**SPACED, "target_updates": 8, "min_updates": 8, "over_selection": 1, "pause_s": 2 * DAY_S},
    "groups": {"kind": "affinity"},
}
PLANS: dict[str, dict[str, object]] = {
    "alone": ALONE,
    "helped": HELPED,
    "rounds": {"pace": SPACED},
    "rounds and help": {"pace": SPACED, "help": HELPED["help"]},
    "meetings": {"pace": SPACED, "topology": {"kind": "gossip"}},
    "taught": TAUGHT,
    "taught and helped": {**TAUGHT, "help": HELPED["help"]},
}


class Given(Stream, frozen=True, tag="given"):
    """Draws what it is given."""

    drawn: object

    def draw(self, *, devices: int, seed: int) -> Drawn:
        assert isinstance(self.drawn, Drawn) and len(self.drawn.batches) == devices
        return self.drawn


class Same(LearnerKind, frozen=True, tag="same"):
    """Begins with the model of a fleet."""

    fleet: object

    def begin(self, task: Task, local: Local, *, seed: int) -> NeuralLearner:
        assert isinstance(self.fleet, FleetRun)
        first = self.fleet.parameters
        return NeuralLearner(self.fleet.model, local, parameters=first, first=first, received=first)


@cache
def cloud() -> GivenCloud:
    """The very model that a scenario with a bootstrap makes."""
    task = Task((TensorSpec("x", "float32", IMAGE),), CLASSES)
    program = export_body(task, body="mlp", hidden=Bootstrap().hidden, seed=derive_seed(0, "cloud"))
    file = io.BytesIO()
    torch.export.save(program, file)
    return GivenCloud(file.getvalue(), samples(30).data)


def fleet_of(
    plan: Mapping[str, object], drift: str | None = "introduced:0.5", body: Network = "mlp", **changes: object
) -> FleetRun:
    is_taught = plan.get("merge", {}) == TAUGHT["merge"]
    made = replace(
        run(body, rounds=5, **plan),
        fleet=ALIKE,
        split=Iid(),
        devices=10,
        each=100,
        drift=None if drift is None else parse_drift(drift),
        days=7.0 if is_taught else 0.5,
        cloud=cloud() if is_taught else None,
    )
    return replace(made, **changes)  # type: ignore[arg-type] # as a dataclass has them


def on_stream(given: FleetRun) -> SimulationOutcome:
    """What the simulation of scenarios finds of the same devices, samples and cloud."""
    assert given.drift is not None and given.devices is not None
    own, spec = divided(given.samples, held_out_share=0.2, platform=0, seed=0).own, given.model.spec
    arrivals = Arrivals.drawn(own, population_of(given, own), given.drift, batch=spec.batch_size, seed=0)
    nothing = own.data.take(slice(0, 0))
    drawn = Drawn(
        Task(spec.inputs, spec.classes),
        given.days * DAY_S / arrivals.ticks,
        nothing if given.cloud is None else given.cloud.data,
        arrivals.batches(),
        arrivals.shifts,
    )
    scenario = Scenario(
        title="The same",
        devices=given.devices,
        window=WINDOW,
        begins_s=0.0,
        bootstrap=None if given.cloud is None else Bootstrap(),
        stream=Given(drawn),
        learner=Same(given),
        speed=given.speed,
        habits=Habits(),
    )
    return simulate(given.plan, scenario, devices=given.devices, seed=0, report=unreported, most_rounds=given.rounds)


TAKE_LONG = {"meetings", "taught and helped"}
NOT_NORMALISED = {"meetings"}
"""Which average no running statistics."""


@pytest.mark.parametrize(
    ("name", "body"),
    [
        *(pytest.param(name, "mlp", marks=[pytest.mark.long] if name in TAKE_LONG else []) for name in PLANS),
        *(
            pytest.param(name, NORMALISED, marks=[pytest.mark.long] if name in TAKE_LONG else [])
            for name in sorted(PLANS.keys() - NOT_NORMALISED)
        ),
    ],
)
def test_it_is_the_simulation_on_streams(name: str, body: Network) -> None:
    given = fleet_of(PLANS[name], body=body)
    here, there = simulate_fleet(given, report=unreported), on_stream(given)
    assert here.accuracy_by_tick == there.accuracy_by_tick
    assert here.device_accuracy == there.accuracy
    assert (here.accuracy, here.tick_s, here.simulated_s) == (
        there.accuracy.mean,
        there.tick_s,
        0.5 * DAY_S * (14 if given.cloud else 1),
    )
    assert (here.bytes_by_kind, here.messages_by_kind) == (there.bytes_by_kind, there.messages_by_kind)
    assert here.trained_s == there.trained_s
    assert (here.help, here.splits, here.recoveries) == (there.help, there.splits, there.recoveries)
    assert [(one.number, one.opened_s, one.ended_s, one.delivered) for one in here.rounds] == [
        (one.number, one.opened_s, one.ended_s, one.delivered) for one in there.rounds
    ]
    assert bool(here.rounds) == given.plan.pace.holds_rounds()
    assert here.help or given.plan.help.rules() is None
    assert here.recoveries


def test_the_same_arguments_give_the_same_bytes() -> None:
    given = fleet_of(PLANS["rounds and help"])
    assert simulate_fleet(given, report=unreported).json() == simulate_fleet(given, report=unreported).json()


def kept(outcome: FleetOutcome) -> int:
    return sum(one.outcome == "kept" for one in outcome.help)


def test_who_meets_a_new_class_is_helped_and_so_more_exact() -> None:
    alone, helped = (
        simulate_fleet(fleet_of(plan, "introduced:0.5", devices=16, each=300), report=unreported)
        for plan in (ALONE, HELPED)
    )
    assert not alone.help and kept(helped) > 0
    changed = {one.device for one in helped.recoveries}
    assert {one.device for one in helped.help if one.outcome == "kept"} & changed
    assert helped.accuracy > alone.accuracy
    took = [sum(one.batches or 30 for one in outcome.recoveries) for outcome in (alone, helped)]
    assert took[1] < took[0]
    assert (helped.devices_with_own, helped.devices_measured, helped.participants) == (16, 16, 16)
    shown = "".join(str(cell) for column in fleet_table("cartel", helped).columns for cell in column.cells)
    assert "help requests, portions kept" in shown and "before it is learned" in shown


def test_devices_differ_in_links_and_days_as_their_fleet_does() -> None:
    """On links that are too slow, no helper delivers in time; who never may train never does."""
    slow = FleetProfile(speed=Speed(sample_s=0.05, spread=0.0, uplink_bytes_s=1.0))
    quick, late = (
        simulate_fleet(fleet_of(HELPED, devices=16, each=200, fleet=one), report=unreported) for one in (ALIKE, slow)
    )
    assert kept(quick) > 0 == kept(late)
    never = FleetProfile(habits=Habits(charging=(0.0, 0.0)))
    asked = {**ALONE, "requirements": {"charging": True}}
    assert simulate_fleet(fleet_of(asked, fleet=never), report=unreported).accuracy < 0.5


def test_versions_are_measured_as_they_are_made() -> None:
    outcome = simulate_fleet(fleet_of({"pace": SPACED}, "steady", days=1.0), report=unreported)
    assert [one.accuracy is not None for one in outcome.rounds] == [one.outcome == "merged" for one in outcome.rounds]
    last = outcome.rounds[-1].accuracy
    assert last is not None and last > 0.7 and outcome.client_rounds == sum(one.delivered for one in outcome.rounds)


@pytest.mark.parametrize(("kind", "norms"), [("central_noise", 1), ("local_noise", 1)])
def test_what_noise_tells_of_devices_is_what_the_platform_would_charge(kind: str, norms: int) -> None:
    """Every device is asked in every round, while samples come."""
    noisy = {
        "pace": {**SPACED, "target_updates": 10, "min_updates": 10, "over_selection": 1},
        "merge": {"kind": "fed_avg", "weight_by": "uniform"},
        "privacy": {"kind": kind, "norm": 1.0, "noise_multiplier": 2.0},
    }
    outcome = simulate_fleet(fleet_of(noisy, "steady", days=1.0), report=unreported)
    parts = {one.delivered for one in outcome.rounds}
    assert parts == {10} and outcome.client_rounds == 10 * len(outcome.rounds)
    told = charged(len(outcome.rounds) * cost_of(Spend(2.0, norms)), DEFAULT_DELTA)
    assert outcome.epsilon == pytest.approx(told, rel=1e-6)
    assert simulate_fleet(fleet_of({"pace": SPACED}, "steady", days=0.2), report=unreported).epsilon is None


def test_nothing_is_kept_to_go_on_from_and_who_asks_for_it_is_told(tmp_path: Path) -> None:
    with pytest.raises(DoesNotFit, match="leave --keep out"):
        simulate_fleet(fleet_of(ALONE, "steady", days=0.1), report=unreported, keep=tmp_path)


def test_devices_that_meet_need_no_drift() -> None:
    met = run(rounds=3, topology={"kind": "gossip"})
    outcome = simulate_fleet(met, report=unreported)
    assert (outcome.drift, outcome.ended, len(outcome.rounds)) == (None, "rounds", 3)
    assert outcome.accuracy > 0.9 and outcome.loss is not None and outcome.bytes_by_kind["meetings"] > 0
    assert outcome.device_accuracy.mean > 0.9 and outcome.participants > 0


def test_like_devices_share_a_model_that_unlike_ones_do_not() -> None:
    """Of two sorts of devices, each with classes of its own, the cloud makes two groups."""
    outcome = simulate_fleet(fleet_of(TAUGHT, "steady", split=_TwoSorts(), days=7.0), report=unreported)
    last = outcome.splits[-1]
    sorts = [
        {last.groups[f"device-{number}"] for number in range(first, 8, 2) if f"device-{number}" in last.groups}
        for first in (0, 1)
    ]
    assert [len(one) for one in sorts] == [1, 1] and sorts[0] != sorts[1], last.reason
    assert {"teachers", "updates", "versions"} <= outcome.bytes_by_kind.keys()


class _TwoSorts(Dirichlet, frozen=True, tag="two_sorts"):
    """Even devices see two classes, odd ones the others."""

    def mixes(self, labels: object, *, classes: int, devices: int, rng: object) -> np.ndarray:
        return np.array([[0.5, 0.5, 0, 0] if device % 2 else [0, 0, 0.5, 0.5] for device in range(devices)])


def test_a_cloud_model_of_another_task_is_refused() -> None:
    task = Task((TensorSpec("x", "float32", IMAGE),), CLASSES + 1)
    file = io.BytesIO()
    torch.export.save(export_body(task, body="mlp", hidden=4, seed=0), file)
    other = fleet_of(TAUGHT, cloud=cloud()._replace(program=file.getvalue()))
    with pytest.raises(PairMismatch, match=r"to 4 classes, the cloud model .* to 5 classes"):
        simulate_fleet(other, report=unreported)
    with pytest.raises(MalformedUpload):
        simulate_fleet(fleet_of(TAUGHT, cloud=cloud()._replace(program=b"no program")), report=unreported)


@pytest.mark.parametrize(
    ("plan", "changes", "why"),
    [
        (HELPED, {"drift": None}, "help cartel|no rounds.*--drift steady, introduced:SHARE"),
        (
            {"pace": SPACED, "help": {"kind": "cartel"}},
            {"drift": None},
            "help cartel is about data that change.*--drift",
        ),
        (TAUGHT, {"drift": None}, "when samples came.*--drift"),
        (TAUGHT, {"cloud": None}, "no cloud model: give one with its data .--cloud"),
        (ALONE, {"cloud": True}, "leave --cloud out"),
        (ALONE, {"executor": "batched"}, "leave --executor out"),
    ],
)
def test_what_does_not_go_together_is_refused_with_what_does(
    plan: Mapping[str, object], changes: Mapping[str, object], why: str
) -> None:
    given: Sequence[tuple[str, object]] = [
        (name, cloud() if name == "cloud" and value else value) for name, value in changes.items()
    ]
    with pytest.raises(DoesNotFit, match=why):
        simulate_fleet(fleet_of(plan, **dict(given)), report=unreported)
