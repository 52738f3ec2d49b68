"""Tables of recipes for people."""

from collections.abc import Sequence

import msgspec
from rich.table import Table

from coterie.recipes.shipped import Expected, Scores
from coterie_recipes import Recipe

WORDS = {
    "baseline": "a rule that learns next to nothing",
    "alone": "each device alone",
    "federation": "the federation's version",
    "devices": "the federation's devices, personal models included",
    "centralised": "all data in one place",
    "new_federation": "new people: the federation's version",
    "new_centralised": "new people: all data in one place",
}
"""By field of `Scores`."""


def list_table(recipes: Sequence[tuple[Recipe, Expected]]) -> Table:
    """What there is, with the figures that each was found to give."""
    table = Table(title="recipes", title_justify="left", box=None)
    for heading in ("name", "what", "alone", "federation", "centralised", "new people"):
        table.add_column(heading, justify="left" if heading in ("name", "what") else "right")
    for recipe, expected in recipes:
        scores = expected.scores
        figures = (scores.alone, scores.devices, scores.centralised, scores.new_federation)
        table.add_row(recipe.name, recipe.title, *(f"{figure:.3f}" for figure in figures))
    return table


def score_table(recipe: Recipe, found: Scores, expected: Expected | None) -> Table:
    """The scores of one run, beside those that are `expected`, where the people are made up."""
    table = Table(title=f"{recipe.title}: {recipe.metric}", title_justify="left", box=None)
    table.add_column("")
    table.add_column("found", justify="right")
    if expected is not None:
        table.add_column(f"mean of {expected.seeds} seeds", justify="right")
    for name, words in WORDS.items():
        mean = () if expected is None else (f"{getattr(expected.scores, name):.3f}",)
        table.add_row(words, f"{getattr(found, name):.3f}", *mean)
    return table


def verdict(found: Scores, expected: Expected, *, seeds: int = 1) -> str:
    """Whether `found`, a mean over so many `seeds`, keeps what is promised of the mean over all, in a sentence."""
    over, under = found.devices - found.alone, found.centralised - found.devices
    kept = over >= expected.over_alone and under <= expected.under_centralised
    promised = (
        f"at least {expected.over_alone:+.3f} and at most {expected.under_centralised:+.3f} are promised of the mean"
    )
    less = f"Less than is promised of the mean of {expected.seeds} seeds, as of one seed may be"
    missed = "NOT as promised of the mean" if seeds >= expected.seeds else less
    beginning = "As promised" if kept else missed
    return f"{beginning}: {over:+.3f} over alone, {under:+.3f} under centralised ({promised})."


def scores_document(found: Scores) -> dict[str, float]:
    """As JSON."""
    return msgspec.structs.asdict(found)
