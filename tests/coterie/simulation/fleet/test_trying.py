"""A plan tried with several draws: interrupted it goes on to the same forecast, and what does not fit is told."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie.child.job import Progress
from coterie.cloud.simulation_job import DRAWS, LEFT_S, SAVED, CannotSimulate, SimulationArguments, agent_code
from coterie.simulation.clock import DAY_S
from coterie.simulation.cloud_model import CloudModel
from coterie.simulation.fleet import simulate_fleet
from coterie.simulation.fleet.drifts.introduced import Introduced
from coterie.simulation.fleet.profile import read_profile
from coterie.simulation.fleet.simulate_fleet import simulate_fleet as simulate_on
from coterie.simulation.fleet.splits.iid import Iid
from coterie.simulation.fleet.trying import try_stored
from coterie.simulation.progress import unreported
from coterie.twin.trace import ReadyInterval, Trace, TracedPart
from coterie_learning.random import derive_seed
from coterie_wire.tensors import encode_tensors
from tests.coterie.simulation.fleet.fleets import PLAN, compiled, run, samples
from tests.coterie.simulation.fleet.test_on_clock import HELPED, TAUGHT, cloud

ROUNDS = 3


class Killed(Exception):
    """The worker died."""


def arguments(directory: Path) -> SimulationArguments:
    model, data = compiled(), samples(600).data
    directory.mkdir()
    (directory / "train_step.onnx").write_bytes(model.train_step)
    (directory / "predict.onnx").write_bytes(model.predict)
    (directory / "parameters").write_bytes(encode_tensors(model.parameters))
    np.savez(directory / "data.npz", x=data.inputs["x"], y=data.labels)
    return SimulationArguments(
        plan=PLAN,
        model=model.spec,
        train_step=str(directory / "train_step.onnx"),
        predict=str(directory / "predict.onnx"),
        parameters=str(directory / "parameters"),
        dataset=str(directory / "data.npz"),
        scenario=None,
        split="iid",
        each=20,
        trace=None,
        profile="kiosks",
        drift=None,
        cloud=None,
        cloud_parameters=None,
        cloud_data=None,
        devices=30,
        rounds=ROUNDS,
        days=7.0,
        seed=1,
        keep=str(directory),
        code=agent_code(),
    )


@pytest.mark.long
def test_interrupted_it_goes_on_to_the_same_forecast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Progress] = []
    whole = try_stored(arguments(tmp_path / "whole"), told.append)
    shares = [one.done for one in told]
    assert shares == sorted(shares) and (shares[-1], told[-1].total) == (DRAWS * ROUNDS, DRAWS * ROUNDS)
    assert told[-1].values[LEFT_S] == 0.0
    assert whole.draws == DRAWS and len(whole.rounds) == ROUNDS
    assert whole.begins_with < whole.accuracy.low, "it learns in every draw"
    assert whole.joules_per_device.low > 0 and whole.bytes_per_device.low > 0
    assert whole.device_accuracy_median is not None and whole.device_accuracy_worst_decile is not None
    assert whole.device_accuracy_worst_decile.middle <= whole.device_accuracy_median.middle
    assert whole.durations == "simulated"

    monkeypatch.setattr(simulate_fleet, "SAVED_EVERY_S", 0.0)
    killed, seen = arguments(tmp_path / "killed"), []

    def dies(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 2 * ROUNDS + 2:
            raise Killed

    with pytest.raises(Killed):
        try_stored(killed, dies)
    assert SAVED in seen[-1].values
    after: list[Progress] = []
    assert try_stored(killed, after.append) == whole
    assert after[0].done > 2 * ROUNDS, "what was done is not done again"


def test_asynchronous_rounds_on_a_fleets_past_are_simulated(tmp_path: Path) -> None:
    """Only synchronous ones are held again with what its devices did."""
    given, path = arguments(tmp_path / "work"), tmp_path / "trace"
    parts = [TracedPart(device, 0.0, "delivered", 20.0, 10.0, 2.0, 4, 20, 1000) for device in range(30)]
    always = [ReadyInterval(device, 0.0, 86_400.0) for device in range(30)]
    path.write_bytes(msgspec.json.encode(Trace("2026-01-01T00:00:00+00:00", 86_400.0, 30, 30, 5, always, parts)))
    pace = {"kind": "buffered", "buffer": 4, "at_work": 8}
    given = msgspec.structs.replace(given, plan={**PLAN, "pace": pace}, trace=str(path), profile=None)
    found = try_stored(given, lambda _: None)
    assert (found.durations, found.draws, found.merged_share) == ("simulated", DRAWS, 1.0)
    assert found.duration_s.middle > 0


def test_devices_without_rounds_learn_and_help_while_samples_come(tmp_path: Path) -> None:
    """Each draw is the simulation that `coterie simulate --drift` runs."""
    given = arguments(tmp_path / "work")
    few = msgspec.structs.replace(given, plan={**PLAN, **HELPED}, drift="introduced:0.5", devices=8, each=60, days=0.5)
    found = try_stored(few, lambda _: None)
    assert (found.rounds, found.duration_s, found.lost, found.up_bytes, found.merged_share) == (
        (),
        None,
        None,
        None,
        None,
    )
    assert found.moments and found.moments[-1].ends_s == 0.5 * DAY_S
    assert found.moments[0].accuracy.middle < found.moments[-1].accuracy.middle
    assert list(found.figures().accuracies) == [one.accuracy.middle for one in found.moments]
    first = run(**HELPED)
    alone = replace(
        first,
        samples=samples(600),
        split=Iid(),
        drift=Introduced(0.5),
        devices=8,
        each=60,
        days=0.5,
        fleet=read_profile("kiosks"),
        rounds=ROUNDS,
    )
    accuracies = sorted(
        simulate_on(replace(alone, seed=derive_seed(1, "draw", draw)), report=unreported).accuracy
        for draw in range(DRAWS)
    )
    assert (found.accuracy.low, found.accuracy.middle, found.accuracy.high) == (
        accuracies[0],
        accuracies[DRAWS // 2],
        accuracies[-1],
    )


@pytest.mark.long
def test_devices_and_cloud_teach_each_other_from_the_cloud_model_that_there_is(tmp_path: Path) -> None:
    given, there = arguments(tmp_path / "work"), cloud()
    model = CloudModel.stored(there.program, given.model)
    (tmp_path / "cloud.pt2").write_bytes(there.program)
    (tmp_path / "cloud").write_bytes(model.bootstrap(there.data, seed=0))
    np.savez(tmp_path / "cloud.npz", x=there.data.inputs["x"], y=there.data.labels)
    found = try_stored(
        msgspec.structs.replace(
            given,
            plan={**PLAN, **TAUGHT},
            drift="steady",
            devices=10,
            each=60,
            cloud=str(tmp_path / "cloud.pt2"),
            cloud_parameters=str(tmp_path / "cloud"),
            cloud_data=str(tmp_path / "cloud.npz"),
        ),
        lambda _: None,
    )
    assert found.merged_share == 1.0 and found.moments and found.duration_s is not None
    assert found.rounds[-1].accuracy.middle > found.begins_with


def test_what_does_not_fit_is_told(tmp_path: Path) -> None:
    fits = arguments(tmp_path / "work")
    for changes, sentence in (
        ({"dataset": None, "scenario": "places"}, "the model takes x float32"),
        ({"plan": {**PLAN, "pace": {"kind": "alone"}}}, "holds no rounds"),
        ({"split": "pathological:99"}, "99 a device are asked for"),
        ({"drift": "sudden"}, "no data drift 'sudden'; there is by:COLUMN"),
        ({"plan": TAUGHT, "drift": "steady"}, "there is no cloud model"),
        ({"devices": 2}, "no round would open in 7 days"),
    ):
        with pytest.raises(CannotSimulate, match=sentence):
            try_stored(msgspec.structs.replace(fits, **changes), lambda _: None)
