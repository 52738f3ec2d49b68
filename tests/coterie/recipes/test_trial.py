"""Each recipe runs: a few people, few rounds. Its figures are measured by ``make bench NAME=recipes``."""

import msgspec
import numpy as np
import pytest

from coterie.recipes.shipped import plan_of
from coterie.recipes.trial import made_up_trial, untrained
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


def _quiet(_: str) -> None:
    pass
