import json
from pathlib import Path

import numpy as np
import pytest

from coterie.recipes.errors import DirectoryExists
from coterie.recipes.writing import write_recipe
from coterie.simulation.contenders import read_contender
from coterie.simulation.progress import unreported
from coterie.simulation.scenario import read_scenario, read_toml
from coterie.simulation.simulate import simulate
from coterie_agent.ingest.file import read_rows
from coterie_agent.ingest.row import RowCheck
from coterie_learning.plan import parse_plan
from coterie_recipes import load
from coterie_recipes.recipe import Person


def written(name: str, directory: Path) -> dict[str, Person]:
    recipe = load(name)
    people = {f"person-{number}": recipe.draw(0, number) for number in range(4)}
    others = [recipe.draw(0, 100)]
    write_recipe(recipe, directory, seed=0, people=people, cloud=others, held_out=others)
    return people


@pytest.mark.long
def test_what_is_written_can_be_simulated(tmp_path: Path) -> None:
    """With inputs that are whole numbers."""
    written("next_word", tmp_path / "new")
    scenario = read_scenario(str(tmp_path / "new" / "scenario.toml"))
    plan = read_contender(str(tmp_path / "new" / "plan.toml"))
    outcome = simulate(plan, scenario, devices=scenario.devices, seed=0, report=unreported)
    assert scenario.devices == 4
    assert any(one.outcome == "merged" for one in outcome.rounds)


def test_what_pretraining_needs_is_written_beside(tmp_path: Path) -> None:
    people = written("messages", tmp_path / "new")
    before = tmp_path / "new" / "pretraining"
    assert parse_plan(read_toml(before / "plan.toml")).personal.name == "none"
    rows = list(read_rows(before / "devices" / "person-3.npz", RowCheck(None)))
    labelled = list(read_rows(tmp_path / "new" / "devices" / "person-3.npz", RowCheck(None)))
    person = people["person-3"]
    assert (len(rows), len(labelled)) == (person.trained_on, len(person.train.y))
    assert rows[0].target == person.pretrained_on.x[0].astype(np.float32).tobytes()
    assert labelled[0].target == person.train.y[0].astype(np.float32).tobytes()
    assert len(list(read_rows(before / "held-out.npz", RowCheck(None)))) == load("messages").draw(0, 100).trained_on


@pytest.mark.parametrize("name", ["tabular", "anomaly"])
def test_what_is_written_is_ingested_by_an_agent(name: str, tmp_path: Path) -> None:
    people = written(name, tmp_path / "new")
    rows = list(read_rows(tmp_path / "new" / "devices" / "person-3.npz", RowCheck(None)))
    train = people["person-3"].train
    assert len(rows) == len(train.y)
    assert rows[0].x == train.x[0].astype(np.float32).tobytes()
    assert rows[0].target == (b"" if name == "tabular" else train.y[0].astype(np.float32).tobytes())
    training = json.loads((tmp_path / "new" / "training.json").read_bytes())
    assert training == ({} if name == "tabular" else {"loss": {"kind": "mean_squared_error"}})
    assert (tmp_path / "new" / "scenario.toml").exists() == (name == "tabular")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    with pytest.raises(DirectoryExists, match="there already"):
        written("tabular", tmp_path)
    assert list(tmp_path.iterdir()) == []
