"""A device model and samples of one's own in a simulation."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from django.core.management import CommandError, call_command
from torch import nn

from coterie.compile.program import export_module
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.run_options import RunOptions, fleet_run
from coterie.simulation.fleet.sweep import SweepOutcome
from coterie.simulation.outcome import SimulationOutcome
from coterie_learning.plan import parse_plan

FEATURES, CLASSES, USERS, EACH = 6, 3, 4, 70
PLAN = """
[local]
kind = "sgd"
epochs = 2
learning_rate = 0.1
[pace]
kind = "sync"
target_updates = 3
min_updates = 2
deadline_s = 50
pause_s = 20
[requirements]
charging = false
"""
Write = Callable[..., Path]


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return str(path)


@pytest.fixture
def pair(tmp_path: Path) -> Write:
    def write(*layers: nn.Module) -> Path:
        torch.manual_seed(0)
        module = nn.Sequential(*(layers or (nn.Linear(FEATURES, 8), nn.ReLU(), nn.Linear(8, CLASSES))))
        path = tmp_path / "device.pt2"
        torch.export.save(export_module(module, (torch.zeros(2, FEATURES),)), path)
        return path

    return write


@pytest.fixture
def data(tmp_path: Path) -> Write:
    def write(**changed: np.ndarray) -> Path:
        rng = np.random.default_rng(0)
        y = rng.integers(0, CLASSES, USERS * EACH)
        x = (np.eye(FEATURES)[y] * 3 + rng.normal(0, 0.5, (len(y), FEATURES))).astype(np.float32)
        arrays = {"x": x, "y": y, "user": np.arange(len(y)) % USERS, **changed}
        path = tmp_path / "samples.npz"
        np.savez(path, **{name: array for name, array in arrays.items() if len(array)})
        return path

    return write


def simulated(plan: str, pair: Path, data: Path, **more: object) -> SimulationOutcome:
    found = data.parent / "found.json"
    call_command("simulate", plan, pair=pair, data=data, json=found, **more)
    return msgspec.json.decode(found.read_bytes(), type=SimulationOutcome)


def test_each_user_is_a_device_and_learns_with_the_others(plan: str, pair: Write, data: Write) -> None:
    outcome = simulated(plan, pair(), data())
    assert [sum(device.samples) for device in outcome.devices] == [EACH] * USERS
    assert outcome.accuracy_by_tick[0] is not None and outcome.accuracy_by_tick[-1] is not None
    assert outcome.accuracy_by_tick[-1] > max(0.8, outcome.accuracy_by_tick[0])
    assert {round_.outcome for round_ in outcome.rounds} == {"merged"}
    assert outcome.scenario == "device.pt2 on samples.npz"


def test_arrays_that_are_no_input_of_the_model_are_left_alone(plan: str, pair: Write, data: Write) -> None:
    """As when each sample was taken, which a fleet may be divided or drift by."""
    with_time = simulated(plan, pair(), data(time=np.arange(USERS * EACH)))
    assert with_time == simulated(plan, pair(), data())


def test_fewer_devices_are_the_first_users(plan: str, pair: Write, data: Write) -> None:
    assert len(simulated(plan, pair(), data(), devices=3).devices) == 3


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"user": np.zeros(0)}, "no array user of whole numbers"),
        ({"user": np.linspace(0, 1, USERS * EACH)}, "no array user of whole numbers"),
        ({"y": np.full(USERS * EACH, CLASSES)}, "classes go from 3 to 3, those of the model from 0 to 2"),
        ({"x": np.zeros((USERS * EACH, 5), np.float32)}, r"takes .* \[6\], the samples are .* \[5\]"),
        ({"x": np.zeros((9, FEATURES), np.float32)}, "of the same length"),
    ],
)
def test_samples_that_do_not_fit_are_refused(
    plan: str, pair: Write, data: Write, changed: dict[str, np.ndarray], wrong: str
) -> None:
    with pytest.raises(CommandError, match=wrong):
        call_command("simulate", plan, pair=pair(), data=data(**changed))


def test_more_devices_than_users_are_refused(plan: str, pair: Write, data: Write) -> None:
    with pytest.raises(CommandError, match="samples of 4 users, 5 devices"):
        call_command("simulate", plan, pair=pair(), data=data(), devices=5)


def test_models_that_gather_running_statistics_are_simulated(plan: str, pair: Write, data: Write) -> None:
    normed = pair(nn.Linear(FEATURES, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, CLASSES))
    outcome = simulated(plan, normed, data())
    assert outcome.accuracy_by_tick[-1] > max(0.8, outcome.accuracy_by_tick[0])


@pytest.mark.parametrize(
    ("kinds", "asked", "wrong"),
    [
        ({"pace": {"kind": "alone"}}, RunOptions("by:user"), "holds no rounds"),
        ({"help": {"kind": "cartel"}}, RunOptions("by:user"), "data that change"),
        ({}, RunOptions("by:user", executor="batched", drift="steady"), "leave --executor out"),
    ],
)
def test_a_plan_that_no_fleet_simulates_is_refused_before_the_model_is_read(
    kinds: dict[str, object], asked: RunOptions, wrong: str, tmp_path: Path
) -> None:
    with pytest.raises(DoesNotFit, match=wrong):
        fleet_run(parse_plan(kinds), tmp_path / "not-there.pt2", tmp_path / "not-there.npz", asked)


def test_a_plan_that_there_is_not_is_told_before_the_model_is_read(data: Write, tmp_path: Path) -> None:
    unread = tmp_path / "device.pt2"
    unread.write_bytes(b"no model")
    with pytest.raises(CommandError, match="the nearest is fedavg"):
        call_command("simulate", "fedagv", pair=unread, data=data())


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"pair": "device.pt2"}, "go together"),
        ({"data": "samples.npz"}, "go together"),
        ({"pair": "device.pt2", "data": "samples.npz", "scenario": "places"}, "without a scenario"),
        ({"pair": "device.pt2", "data": "none.npz"}, "no file"),
    ],
)
def test_what_goes_together_is_said(
    plan: str, pair: Write, data: Write, tmp_path: Path, options: dict[str, str], wrong: str
) -> None:
    pair(), data()
    given = {name: value if name == "scenario" else tmp_path / value for name, value in options.items()}
    with pytest.raises(CommandError, match=wrong):
        call_command("simulate", plan, **given)


def test_a_fleet_of_samples_that_are_divided(plan: str, pair: Write, data: Write, tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    options = {"pair": pair(), "data": data(), "split": "dirichlet:0.5", "devices": 12, "rounds": 4}
    call_command("simulate", plan, json=first, workers=1, **options)
    call_command("simulate", plan, json=second, workers=2, keep=tmp_path / "kept", **options)
    assert first.read_bytes() == second.read_bytes()
    outcome = msgspec.json.decode(first.read_bytes(), type=FleetOutcome)
    assert (outcome.devices, len(outcome.rounds), outcome.pair) == (12, 4, "device.pt2")


def test_a_process_for_each_core_trains_unless_another_number_is_asked_for(pair: Write, data: Write) -> None:
    """On the command line and from Python alike."""
    paths, asked = (pair(), data()), RunOptions("by:user")
    assert fleet_run(parse_plan({}), *paths, asked).workers == len(os.sched_getaffinity(0))
    assert fleet_run(parse_plan({}), *paths, asked._replace(workers=3)).workers == 3


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"split": None, "each": 5, "keep": Path("kept")}, "--each, --keep: for fleets"),
        ({"rounds": 0}, "--rounds is at least 1"),
        ({"held_out": 1.0}, "between 0 and 1"),
        ({"each": 5}, "give --devices"),
        ({"split": "by:nobody"}, "no column 'nobody'"),
        ({"fleet": Path("none.toml")}, "neither a file nor a fleet"),
        ({"on": "platform"}, "coterie login"),
        ({"on": "ray", "keep": Path("kept")}, "--keep is of this machine"),
        ({"split": None, "on": "ray"}, "--on: for fleets"),
    ],
)
def test_options_of_fleets_are_checked(
    plan: str, pair: Write, data: Write, options: dict[str, object], wrong: str
) -> None:
    with pytest.raises(CommandError, match=wrong):
        call_command("simulate", plan, **{"pair": pair(), "data": data(), "split": "by:user", **options})


def test_a_sweep_judges_its_winner(
    plan: str, pair: Write, data: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tmp_path / "found.json"
    options = {"pair": pair(), "data": data(), "split": "iid", "devices": 6, "rounds": 2, "workers": 1, "seeds": 1}
    drawn = tmp_path / "sweep.png"
    call_command("simulate", plan, tries=["local.learning_rate=0.001,0.2"], json=found, plot=drawn, **options)
    assert drawn.read_bytes().startswith(b"\x89PNG")
    outcome = msgspec.json.decode(found.read_bytes(), type=SweepOutcome)
    assert outcome.winner == {"local.learning_rate": 0.2}
    assert "nothing was chosen" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(CommandError, match="say what to try"):
        call_command("simulate", plan, search="grid", **options)
