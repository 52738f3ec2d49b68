"""The federation before a recipe's own, on samples without labels: what the recipe's own begins with."""

from collections.abc import Sequence
from dataclasses import replace

from coterie.recipes.federation import Federation, dataset_of
from coterie.recipes.shipped import PRETRAINING_PLAN, plan_of
from coterie.simulation.learners.neural import NeuralLearner
from coterie_learning.random import derive_seed
from coterie_recipes import Recipe
from coterie_recipes.recipe import Person


def pretrained(recipe: Recipe, first: NeuralLearner, people: Sequence[Person], *, seed: int) -> NeuralLearner:
    """The last version of a federation of `people` that began with `first`; `first` where the recipe has none."""
    if recipe.pretraining is None:
        return first
    plan = plan_of(recipe, devices=len(people), file=PRETRAINING_PLAN)
    data = [dataset_of(person.pretrained_on, first) for person in people]
    federation = Federation(replace(first, local=plan.local), plan, data, derive_seed(seed, "pretraining"))
    for number in range(1, recipe.pretraining.rounds + 1):
        federation.hold_round(number)
    found = federation.parameters
    return replace(first, parameters=found, first=found, received=found)
