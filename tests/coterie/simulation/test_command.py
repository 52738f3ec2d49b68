"""``coterie simulate`` as a command."""

import json
from io import StringIO
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from django.core.management import CommandError, call_command

from coterie.simulation.bodies import export_body
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.learner import Task
from coterie.simulation.management.commands import simulate as command
from coterie.simulation.outcome import SimulationOutcome
from coterie_learning.local import StepScalars
from coterie_learning.local.sgd import Sgd
from coterie_wire.bundle import TensorSpec
from tests.coterie.simulation.fleet.fleets import CLASSES, IMAGE, samples
from tests.coterie.simulation.small import SCENARIO
from tests.own_kind import count_as_own_kind


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    """Small enough for a test."""
    stream = {key: value for key, value in SCENARIO["stream"].items() if key != "profiles"}
    lines = [f"title = {json.dumps(SCENARIO['title'])}", "devices = 2", "window = 3"]
    lines += ["[stream]", *(f"{key} = {json.dumps(value)}" for key, value in stream.items())]
    lines += ["profiles = [{ classes = [0, 1] }]", "[learner]", 'kind = "neural"', "hidden = 4", "batch_size = 10"]
    path = tmp_path / "small.toml"
    path.write_text("\n".join(lines))
    return path


def test_it_writes_what_it_found_as_json_and_as_a_picture(scenario_file: Path, tmp_path: Path) -> None:
    found, picture = tmp_path / "found.json", tmp_path / "found.png"
    call_command("simulate", "isolated", scenario=str(scenario_file), json=found, plot=picture)
    outcome = msgspec.json.decode(found.read_bytes(), type=SimulationOutcome)
    assert len(outcome.devices) == 2
    assert outcome.json() == found.read_bytes()
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_standard_output_has_json_alone_where_that_is_asked_for(
    scenario_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("simulate", "isolated", scenario=str(scenario_file), json=Path("-"))
    assert len(msgspec.json.decode(capsys.readouterr().out, type=SimulationOutcome).devices) == 2


def test_it_lists_what_is_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("simulate", list=True)
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("isolated", "centralised", "fedavg", "digits-introduction"))


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ((), "say what to run"),
        (("isolated",), "say on what isolated is run"),
        (("no-such-plan", "--scenario", "digits-stationary"), "simulation.unknown_plan"),
        (("isolated", "--scenario", "no-such-scenario"), "simulation.unknown_scenario"),
        (("isolated", "--scenario", "digits-stationary", "--devices", "0"), "--devices"),
        (("isolated", "--scenario", "digits-stationary", "--seed", "-1"), "--seed"),
        (("isolated", "--scenario", "digits-stationary", "--json", "/no/such/directory/x"), "no directory"),
    ],
)
def test_it_says_what_is_wrong(arguments: tuple[str, ...], wrong: str) -> None:
    with pytest.raises(CommandError, match=wrong):
        call_command("simulate", *arguments)


def test_ctrl_c_ends_it_and_leaves_nothing(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> SimulationOutcome:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "simulate", interrupted)
    with pytest.raises(CommandError, match="nothing is written") as caught:
        call_command(
            "simulate", "isolated", scenario=str(scenario_file), json=tmp_path / "found.json", stderr=StringIO()
        )
    assert caught.value.returncode == 130
    assert not (tmp_path / "found.json").exists()


@pytest.fixture
def own(tmp_path: Path) -> tuple[str, ...]:
    """Options for a model and samples of one's own."""
    fleet, pair, data = samples(), tmp_path / "device.pt2", tmp_path / "samples.npz"
    task = Task((TensorSpec("x", "float32", IMAGE),), CLASSES)
    torch.export.save(export_body(task, body="mlp", hidden=8, seed=0), pair)
    np.savez(data, x=fleet.data.inputs["x"], y=fleet.data.labels, time=np.arange(len(fleet.data.labels)))
    return "--pair", str(pair), "--data", str(data), "--split", "iid", "--devices", "8", "--days", "1"


def test_a_preset_whose_devices_help_each_other_runs_on_ones_own_samples(
    own: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, picture = tmp_path / "found.json", tmp_path / "found.png"
    call_command("simulate", "cartel", *own, "--drift", "by:time", "--batch-size", "5", json=found, plot=picture)
    outcome = msgspec.json.decode(found.read_bytes(), type=FleetOutcome)
    assert outcome.json() == found.read_bytes()
    assert outcome.drift == {"kind": "by", "column_name": "time"} and len(outcome.accuracy_by_tick) == 8
    assert "devices to which samples came" in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ((), "no rounds.*--drift steady, introduced:SHARE or by:COLUMN"),
        (("--drift", "by:day"), "no column 'day'.*there is time"),
        (("--drift", "steady", "--keep", "kept"), "leave --keep out"),
        (("--drift", "steady", "--cloud", "device.pt2"), "--cloud and --cloud-data"),
    ],
)
def test_what_a_fleet_over_time_does_not_take_is_told(
    own: tuple[str, ...], options: tuple[str, ...], wrong: str
) -> None:
    with pytest.raises(CommandError, match=wrong):
        call_command("simulate", "cartel", *own, *options)


def test_an_error_of_the_code_of_a_kind_names_its_package_and_the_line(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Sgd, step: int) -> StepScalars:
        raise ZeroDivisionError("a part of nothing")

    monkeypatch.setattr(Sgd, "step_scalars", broken)
    with pytest.raises(ZeroDivisionError):
        call_command("simulate", "fedavg", scenario=str(scenario_file))
    count_as_own_kind(monkeypatch, __name__)
    with pytest.raises(CommandError, match=r"^acme-kinds 1\.0 failed in .*a part of nothing \[kinds\.failed\]$"):
        call_command("simulate", "fedavg", scenario=str(scenario_file))
