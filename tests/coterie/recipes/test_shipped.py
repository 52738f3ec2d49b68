import pytest

from coterie.compile.recipe import recipe_document
from coterie.recipes.errors import UnknownRecipe
from coterie.recipes.shipped import expected_of, known_recipe, plan_of, training_recipe_of
from coterie.recipes.table import verdict
from coterie_recipes import NAMES, load


@pytest.mark.parametrize("name", NAMES)
def test_the_figures_keep_what_is_promised(name: str) -> None:
    expected = expected_of(load(name))
    scores = expected.scores
    assert scores.devices > scores.baseline
    assert verdict(scores, expected).startswith("As promised")
    assert expected.says.endswith(".")
    assert expected.seeds >= 5


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_asks_for_no_more_devices_than_there_are(name: str) -> None:
    recipe = load(name)
    assert plan_of(recipe, devices=3).pace.updates_wanted() == 3
    assert plan_of(recipe, devices=1000).pace.updates_wanted() < 1000


@pytest.mark.parametrize("name", NAMES)
def test_a_pair_without_classes_has_a_loss_of_numbers(name: str) -> None:
    recipe = load(name)
    loss = recipe_document(training_recipe_of(recipe))["loss"]
    assert (loss == {"kind": "mean_squared_error"}) == (not recipe.classes)


def test_an_unknown_recipe_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UnknownRecipe, match="har, next_word"):
        known_recipe("zebra")
