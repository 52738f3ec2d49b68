"""What every recipe gives: the devices of its federation beside each alone and all data in one place, over its seeds.

A promise is of the mean over the seeds; where a federation does not pay, the margin is negative and it is said.
"""

from collections.abc import Iterator
from statistics import mean

from coterie.recipes.shipped import Scores, expected_of
from coterie.recipes.table import WORDS, verdict
from coterie.recipes.trial import made_up_trial, worth_of_pretraining
from coterie_recipes import NAMES, Recipe, load
from tests.benchmarks.report import Figure

WORTH = {
    "without": "the version without pre-training",
    "labelled": "every label known: with pre-training",
    "labelled_without": "every label known: without it",
}
"""By field of `Pretrained`."""


def measure() -> list[Figure]:
    return [figure for recipe in map(load, NAMES) for figure in _figures(recipe)]


def _figures(recipe: Recipe) -> Iterator[Figure]:
    expected = expected_of(recipe)
    found, originals, worths = [], [], []
    for seed in range(expected.seeds):
        trial = made_up_trial(recipe, seed=seed)
        outcome = trial.run(rounds=expected.rounds, report=lambda _: None)
        found.append(outcome.scores)
        originals += [] if outcome.original is None else [outcome.original]
        worth = worth_of_pretraining(recipe, seed=seed, rounds=expected.rounds, report=lambda _: None)
        worths += [] if worth is None else [worth]
    means = Scores(**{name: mean(getattr(one, name) for one in found) for name in WORDS})
    case = f"{recipe.name}: {recipe.metric}"
    for name, words in WORDS.items():
        each = ", ".join(f"{getattr(one, name):.3f}" for one in found)
        yield Figure(
            case, words, getattr(means, name), "", f"seeds {each}; written {getattr(expected.scores, name):.3f}"
        )
    if originals:
        before, after = (mean(getattr(one, name) for one in originals) for name in ("before", "after"))
        yield Figure(case, "the backbone's own task, before", before, "", f"written {expected.original}")
        yield Figure(case, "the backbone's own task, with the version", after, "")
    for name, words in WORTH.items() if worths else ():
        each = ", ".join(f"{getattr(one, name):.3f}" for one in worths)
        value = mean(getattr(one, name) for one in worths)
        yield Figure(case, words, value, "", f"seeds {each}; written {getattr(expected.pretraining, name):.3f}")
    over, under = means.devices - means.alone, means.centralised - means.devices
    yield Figure(case, "over alone", over, "", f"promised >= {expected.over_alone:+.3f}")
    yield Figure(case, "under centralised", under, "", f"promised <= {expected.under_centralised:+.3f}")
    yield Figure(
        case, verdict(means, expected, seeds=len(found)).partition(":")[0], float(len(found)), "seeds", expected.says
    )
