"""Each recipe runs: a few people, few rounds. Its figures are measured by ``make bench NAME=recipes``."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from coterie.recipes.pretraining import pretrained
from coterie.recipes.shipped import plan_of
from coterie.recipes.trial import made_up_trial, untrained, worth_of_pretraining
from coterie_recipes import NAMES, load


@pytest.mark.parametrize(
    "name", ["tabular", *(pytest.param(name, marks=pytest.mark.long) for name in NAMES if name != "tabular")]
)
def test_a_recipe_runs_and_its_versions_differ(name: str) -> None:
    trial = made_up_trial(load(name), seed=1, people=2)
    told: list[str] = []
    rounds = 6 if name == "trees" else 3  # the first four place the bins' edges
    found = trial.run(rounds=rounds, report=told.append)
    scores = msgspec.structs.asdict(found.scores)
    assert all(0 <= score <= 1 and np.isfinite(score) for score in scores.values())
    assert len(found.by_round) == rounds
    assert len(set(found.by_round)) > 1, "versions differ"
    assert found.update_bytes > 1000
    assert told[-1] == "personal models"


@pytest.mark.long
def test_the_same_seed_gives_the_same_figures() -> None:
    first, again = (made_up_trial(load("tabular"), seed=2, people=3).run(rounds=2, report=_quiet) for _ in range(2))
    other = made_up_trial(load("tabular"), seed=3, people=3).run(rounds=2, report=_quiet)
    assert first == again
    assert first != other


@pytest.mark.long
def test_what_is_compared_with_learns_more_from_more() -> None:
    """The control: of people who know the same, all data in one place are better than a model of one's own alone."""
    trial = made_up_trial(load("tabular"), seed=0, people=6)
    compared = trial.compare(_quiet)
    scores, _ = trial.judge(compared.centralised, compared)
    assert scores.centralised > scores.alone
    assert scores.federation == scores.centralised


@pytest.mark.long
def test_what_a_version_forgets_is_measured_by_the_head_of_the_backbones_own_task() -> None:
    trial = made_up_trial(load("transfer"), seed=1, people=2)
    first = untrained(load("transfer"), plan_of(load("transfer"), devices=2), seed=1).parameters
    begun = trial.remembered(first)
    assert begun is not None and begun.before == begun.after > 0.85, "adapters begin by adding nothing"
    rng = np.random.default_rng(0)
    other_head = {**first, "head.weight": rng.normal(size=first["head.weight"].shape).astype(np.float32)}
    assert trial.remembered(other_head) == begun, "the recipe's own head has no part in it"
    name = "hidden.weight.lora_b"
    disturbed = trial.remembered({**first, name: rng.normal(size=first[name].shape).astype(np.float32)})
    assert disturbed is not None and disturbed.after < begun.before
    assert made_up_trial(load("tabular"), seed=1, people=2).remembered({}) is None


def test_training_begins_with_what_the_fleet_has_pretrained() -> None:
    """Of the samples of that fleet alone; and without pre-training with what was given."""
    recipe = load("messages")
    assert recipe.pretraining is not None
    recipe = replace(recipe, pretraining=replace(recipe.pretraining, rounds=2))
    plan = plan_of(recipe, devices=2)
    first = untrained(recipe, plan, seed=1)
    people = [recipe.draw(1, number) for number in range(3)]
    one, again, other = (pretrained(recipe, first, chosen, seed=1) for chosen in (people[:2], people[:2], people[1:]))
    assert one.parameters.keys() == first.parameters.keys()
    for name, tensor in one.parameters.items():
        assert np.array_equal(tensor, again.parameters[name]), "the same fleet, the same beginning"
        assert not np.array_equal(tensor, first.parameters[name])
        assert not np.array_equal(tensor, other.parameters[name])
        assert np.array_equal(tensor, one.received[name]), "updates are differences from it"
    assert one.local == plan.local, "what follows is trained as the recipe's own plan says"
    assert pretrained(replace(recipe, pretraining=None), first, people, seed=1) is first


@pytest.mark.long
def test_pretraining_is_worth_much_with_few_labels_and_little_with_all() -> None:
    recipe = load("messages")
    trial = made_up_trial(recipe, seed=0)
    few = trial.hold(rounds=20, report=_quiet).by_round[-1]
    worth = worth_of_pretraining(recipe, seed=0, rounds=20, report=_quiet)
    assert worth is not None
    assert few > worth.without + 0.2
    assert worth.labelled - worth.labelled_without < (few - worth.without) / 3
    assert worth_of_pretraining(load("tabular"), seed=0, rounds=1, report=_quiet) is None


def _quiet(_: str) -> None:
    pass
