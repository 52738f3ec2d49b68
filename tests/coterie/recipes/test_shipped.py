import pytest

from coterie.compile.recipe import parse_recipe
from coterie.recipes.errors import UnknownRecipe
from coterie.recipes.shipped import PRETRAINING_PLAN, checked_recipe, expected_of, plan_of
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
def test_a_pair_without_classes_has_a_loss_of_numbers_or_tokens(name: str) -> None:
    recipe = load(name)
    loss = parse_recipe(dict(recipe.training)).loss
    assert (loss.task in ("values", "tokens")) == (not recipe.classes)


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_that_pretrains_has_a_plan_for_it_and_says_what_it_is_worth(name: str) -> None:
    recipe, expected = load(name), expected_of(load(name))
    worth = expected.pretraining
    assert (worth is None) == (recipe.pretraining is None)
    assert (recipe.directory / PRETRAINING_PLAN).exists() == (recipe.pretraining is not None)
    if worth is None:
        return
    assert plan_of(recipe, devices=3, file=PRETRAINING_PLAN).pace.updates_wanted() == 3
    gained, gained_in_control = expected.scores.federation - worth.without, worth.labelled - worth.labelled_without
    assert gained > 0.1 > abs(gained_in_control)


def test_an_unknown_recipe_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UnknownRecipe, match="har, next_word"):
        checked_recipe("zebra")
    with pytest.raises(UnknownRecipe, match="the nearest is 'har'"):
        checked_recipe("hra")
