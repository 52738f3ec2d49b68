"""What a pretrained backbone is worth to a fleet, and how much of its own task is forgotten by what the fleet trains.

Four ways to train the same network in the same federations of the recipe ``transfer``: a head on the frozen backbone,
adapters and a head (the recipe), everything from the backbone on, and everything from random parameters. Forgetting is
what the backbone scored in its own task before, less what it scores with the last version, each with that task's head.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from statistics import mean, pstdev

import torch

from coterie.recipes.shipped import expected_of, plan_of
from coterie.recipes.trial import NEW, NEW_PEOPLE, RecipeTrial, untrained
from coterie.simulation.learners.neural import NeuralLearner
from coterie_learning.random import derive_seed
from coterie_recipes import Recipe, load
from coterie_recipes.transfer.backbone import HEAD
from coterie_recipes.transfer.models import Network
from tests.benchmarks.report import Figure

TRAINED: Mapping[str, Mapping[str, object] | None] = {
    "a head on the frozen backbone": {"trains": {"kind": "named", "names": [f"{HEAD}.*"]}},
    "adapters and a head (the recipe)": None,
    "everything, from the backbone": {},
    "everything, from random parameters": {},
}


def measure() -> list[Figure]:
    recipe = load("transfer")
    return [figure for way, training in TRAINED.items() for figure in _figures(recipe, way, training)]


def _figures(recipe: Recipe, way: str, training: Mapping[str, object] | None) -> Iterator[Figure]:
    expected = expected_of(recipe)
    arm = recipe if training is None else replace(recipe, training=training)
    columns: dict[str, list[float]] = {}
    for seed in range(expected.seeds):
        trial = _trial(arm, seed, random="random" in way)
        held = trial.hold(rounds=expected.rounds, report=lambda _: None)
        original = trial.remembered(held.version)
        assert original is not None
        found = {
            "version, the people": held.by_round[-1],
            "version, new people": trial.score_of_new(held.version),
            "after a quarter of the rounds": held.by_round[expected.rounds // 4 - 1],
            "the backbone's own task, before": original.before,
            "the backbone's own task, after": original.after,
            "forgotten": original.before - original.after,
            "an update, kB": held.update_bytes / 1000,
        }
        for name, value in found.items():
            columns.setdefault(name, []).append(value)
    for name, values in columns.items():
        each = ", ".join(f"{value:.3f}" for value in values)
        yield Figure(way, name, mean(values), "", f"seeds {each}; deviation {pstdev(values):.3f}")


def _trial(recipe: Recipe, seed: int, *, random: bool) -> RecipeTrial:
    people = [recipe.draw(seed, number) for number in range(recipe.people)]
    new = [recipe.draw(seed, NEW + number) for number in range(NEW_PEOPLE)]
    plan = plan_of(recipe, devices=len(people))
    first = untrained(recipe, plan, seed=seed)
    return RecipeTrial(
        recipe, seed=seed, people=people, new=new, plan=plan, first=_at_random(first, seed) if random else first
    )


def _at_random(first: NeuralLearner, seed: int) -> NeuralLearner:
    """The same graphs, all of whose parameters are drawn."""
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(seed, "model"))
        drawn = {name: tensor.numpy() for name, tensor in Network().state_dict().items()}
    return replace(first, parameters=drawn, first=drawn, received=drawn)
