import json
from pathlib import Path

import pytest

from coterie.compile.recipe import parse_recipe
from coterie.offline.recipes import read_recipe, with_options
from coterie_wire.errors import WireError

GIVEN = {"loss": {"kind": "next_token", "padding": 3}, "clipping": True}


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('clipping = true\nloss = { kind = "next_token", padding = 3 }')
    (tmp_path / "a.json").write_text(json.dumps(GIVEN))
    assert read_recipe(tmp_path / "a.toml") == read_recipe(tmp_path / "a.json") == GIVEN


@pytest.mark.parametrize("text", ["loss = ", "[1, 2]", "\xff"])
def test_a_file_that_holds_no_recipe_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(WireError) as caught:
        read_recipe(tmp_path / "a.json")
    assert caught.value.code == "recipe.invalid"


def test_options_override_the_file() -> None:
    assert with_options(GIVEN, {}, []) == GIVEN
    assert with_options(GIVEN, {}, ["loss.padding=0", "clipping=false"]) == {
        "loss": {"kind": "next_token", "padding": 0},
        "clipping": False,
    }
    assert with_options(GIVEN, {"loss": "cross_entropy"}, [])["loss"] == {"kind": "cross_entropy"}
    adapters = with_options({}, {"trains": "adapters"}, ["trains.rank=4", 'trains.weights=["*.weight"]'])
    assert adapters == {"trains": {"kind": "adapters", "rank": 4, "weights": ["*.weight"]}}


def test_a_setting_alone_keeps_the_default_kind_and_words_need_no_quotes() -> None:
    recipe = parse_recipe(with_options({}, {}, ["optimiser.momentum=nesterov"]))
    assert recipe.optimiser.scalars() == ["momentum"]


@pytest.mark.parametrize("setting", ["clipping", "=1", "losses.padding=1", "clipping.x=1"])
def test_a_setting_that_sets_nothing_is_refused(setting: str) -> None:
    with pytest.raises(WireError, match="recipe"):
        with_options({}, {}, [setting])
