"""``coterie simulate`` as a command."""

import json
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from django.core.management import CommandError, call_command

from coterie.simulation.management.commands import simulate as command
from coterie.simulation.outcome import Outcome
from tests.coterie.simulation.small import SCENARIO


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
    outcome = msgspec.json.decode(found.read_bytes(), type=Outcome)
    assert len(outcome.devices) == 2
    assert outcome.json() == found.read_bytes()
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_it_lists_what_is_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("simulate", list=True)
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("isolated", "centralised", "fedavg", "digits-introduction"))


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ((), "say what to run"),
        (("isolated",), "say what to run"),
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
    def interrupted(*_: object, **__: object) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "simulate", interrupted)
    with pytest.raises(CommandError, match="nothing is written") as caught:
        call_command(
            "simulate", "isolated", scenario=str(scenario_file), json=tmp_path / "found.json", stderr=StringIO()
        )
    assert caught.value.returncode == 130
    assert not (tmp_path / "found.json").exists()
