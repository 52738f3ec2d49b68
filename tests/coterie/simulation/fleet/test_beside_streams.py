"""A fleet holds the very rounds that the simulation on streams holds of the same devices, to the last bit."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, cast

import msgspec
import pytest

from coterie.simulation.clock import DAY_S
from coterie.simulation.clouds import AveragingCloud, Version
from coterie.simulation.device import Device
from coterie.simulation.fleet.checkpoint import SimulationCheckpoint, load
from coterie.simulation.fleet.device_states import DeviceStates
from coterie.simulation.fleet.dividing import divided
from coterie.simulation.fleet.files import open_work
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.on_clock import world_of
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.own_models import own_of
from coterie.simulation.fleet.profile import FleetProfile
from coterie.simulation.fleet.setting import Setting
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.fleet.splits.by import By
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.outcome import RoundOutcome
from coterie.simulation.progress import unreported
from coterie.simulation.rounds import Rounds
from coterie.simulation.scenario import Speed
from coterie.simulation.world import World
from coterie_learning.random import derive_seed
from coterie_wire.tensors import Tensors
from tests.coterie.simulation.fleet.fleets import run

# Downloads take no time, since on a stream all devices have the first version before any round.
UNLIKE = FleetProfile(speed=Speed(sample_s=0.05, spread=1.0, downlink_bytes_s=1e18, uplink_bytes_s=2_000))
SOME = {"kind": "sync", "target_updates": 4, "min_updates": 2, "over_selection": 2.0}
SLOW = {"kind": "sync", "target_updates": 10, "min_updates": 10, "over_selection": 1.0, "pause_s": 7200}
"""So slow that models beside a version are trained before the next."""
UNIFORM = {"kind": "fed_avg", "weight_by": "uniform"}
STREAM = {"kind": "correlated_noise", "norm": 0.1, "separation_rounds": 2, "target_rounds": 12}
ROOT = 30
BUFFERED = {"kind": "buffered", "buffer": 4, "at_work": 8, "deadline_s": 600}


@dataclass(frozen=True, eq=False)
class AsInFleets(World):
    """Trainings have the seeds that a fleet gives them."""

    rounds: deque[Rounds] = field(default_factory=deque)
    """The one."""

    def training_seed(self, device: Device) -> int:
        (rounds,) = self.rounds
        if rounds.is_busy(device):
            return derive_seed(self.seed, "training", device.number, rounds.asked_in(device))
        version = rounds.version_on(device)
        assert version is not None
        return derive_seed(self.seed, "personal", device.number, version.number)


class OnStream(NamedTuple):
    """What the simulation on streams found of the same devices, each of which got all its samples at the beginning."""

    rounds: Sequence[RoundOutcome]
    version: Tensors
    on_devices: Sequence[Tensors]
    """The parameters with which each device answers."""
    held: Sequence[Tensors]
    """Those of the version that it has."""
    trained_s: float
    told: Mapping[int, float]
    """What releases told of each device."""


def on_stream(given: FleetRun, setting: Setting, parameters: Tensors) -> OnStream:
    first = NeuralLearner(setting.graphs, given.plan.local, parameters, first=parameters, received=parameters)
    own = divided(given.samples, held_out_share=given.held_out_share, platform=0, seed=given.seed).own
    found = world_of(given, setting, own, first)
    world = AsInFleets(found.speed, found.begins_s, found.drawn, found.devices, found.seed)
    devices, count = world.devices, len(world.devices)
    root = divided(given.samples, held_out_share=given.held_out_share, platform=ROOT, seed=given.seed).platform
    seed = derive_seed(given.seed, "cloud")
    cloud = AveragingCloud(
        given.plan, first, fleet=count, seed=seed, samples=root if given.plan.merge.compares_with_root else None
    )
    rounds = Rounds(world, given.plan, cloud, given.rounds)
    world.rounds.append(rounds)
    rounds.begin()
    world.clock.run(until_s=given.days * DAY_S)
    held = [cast(Version, rounds.version_on(device)).learner.parameters for device in devices]
    answering = [cast(NeuralLearner, device.learner).parameters for device in devices]
    newest = cloud.version_for(devices[0]).learner.parameters
    return OnStream(
        rounds.outcomes, newest, answering, held, world.ledger.used().trained_s, rounds.privacy_spent.by_device
    )


def same(one: Tensors, other: Tensors) -> bool:
    return one.keys() == other.keys() and all(one[name].tobytes() == other[name].tobytes() for name in one)


@pytest.mark.parametrize(
    "slots",
    [
        {"pace": SOME},
        {"pace": BUFFERED},
        {"pace": {**BUFFERED, "buffer": 1, "max_staleness": 1}},
        {"pace": {**BUFFERED, "staleness": "none"}, "merge": {"kind": "median"}},
        {"pace": BUFFERED, "codec": {"kind": "int8"}, "merge": {"kind": "fed_adam"}},
        {"pace": SLOW, "personal": {"kind": "ditto", "mu": 0.1}},
        {"pace": SLOW, "personal": {"kind": "fine_tuned"}, "codec": {"kind": "int8"}},
        {"pace": SOME, "local": {"kind": "shared_body", "learning_rate": 0.1}},
        {"pace": BUFFERED, "local": {"kind": "shared_body", "learning_rate": 0.1}},
        {"pace": {**BUFFERED, "buffer": 1, "max_staleness": 1}, "local": {"kind": "shared_body", "learning_rate": 0.1}},
        {"pace": SOME, "local": {"kind": "multitask"}, "merge": {"kind": "multitask"}},
        {"pace": SOME, "merge": {"kind": "trusted_root", "samples": ROOT}},
        {"pace": SOME, "merge": UNIFORM, "privacy": {"kind": "central_noise", "norm": 0.1}},
        {"pace": SOME, "merge": UNIFORM, "privacy": STREAM},
        {"pace": SOME, "merge": UNIFORM, "privacy": {"kind": "local_noise", "norm": 0.1}},
    ],
)
def test_rounds_and_versions_are_those_of_a_stream(slots: Mapping[str, object], tmp_path: Path) -> None:
    given = replace(run(executor="exact", rounds=12, **slots), fleet=UNLIKE, split=By("user"), devices=None, each=None)
    outcome, kept, found = both(given, tmp_path)
    if "personal" not in slots and "local" not in slots:
        return
    assert outcome.trained_s == pytest.approx(found.trained_s)
    states = DeviceStates.at(tmp_path, kept.states)
    own = [own_of(states.of(device)) for device in range(outcome.devices)]
    states.close()
    assert any(one is not None and one.parameters is not None for one in own)
    at_work = {one.device for one in kept.coming} | {one.device for one in kept.waiting}
    for device, (one, answering, held) in enumerate(zip(own, found.on_devices, found.held, strict=True)):
        wanted = held if one is None or one.parameters is None else one.parameters
        assert device in at_work or same(wanted, answering), "who is at work at the end goes on learning on a stream"


@pytest.mark.parametrize("slots", [{"pace": SOME}, {"pace": BUFFERED}])
def test_devices_that_fall_silent_do_so_on_a_stream_too(slots: Mapping[str, object], tmp_path: Path) -> None:
    given = replace(run(executor="exact", rounds=12, **slots), split=By("user"), devices=None, each=None)
    outcome, _, _ = both(replace(given, fleet=msgspec.structs.replace(UNLIKE, lost_share=0.3)), tmp_path)
    assert sum(one.lost for one in outcome.rounds) > 3


def both(given: FleetRun, directory: Path) -> tuple[FleetOutcome, SimulationCheckpoint, OnStream]:
    """As a fleet, with what it keeps at the end, and as a stream: rounds and versions are the same."""
    outcome = simulate_fleet(given, report=unreported, keep=directory)
    kept = load(directory)
    assert kept is not None
    found = on_stream(given, open_work(directory).setting, given.parameters)
    assert len(outcome.rounds) == given.rounds == len(found.rounds)
    for one, other in zip(outcome.rounds, found.rounds, strict=True):
        assert (one.invited, one.lost, one.delivered) == (other.invited, other.lost, other.delivered)
        assert one.outcome == other.outcome
        assert (one.opened_s, one.ended_s) == pytest.approx((other.opened_s, other.ended_s), abs=1e-6)
    assert [one.staleness_most for one in outcome.rounds] == [max(one.staleness, default=None) for one in found.rounds]
    assert same(kept.newest.parameters, found.version)
    assert [found.told.get(device, 0.0) for device in range(outcome.devices)] == kept.columns.privacy_spent.tolist()
    assert any(found.told.values()) == (given.plan.privacy.releases != "nothing")
    return outcome, kept, found
