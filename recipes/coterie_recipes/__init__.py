"""Recipes: tasks ready to run. Each is a package here: data of people, their format, a model pair, a plan, figures."""

from importlib import import_module

from coterie_recipes.recipe import Recipe

NAMES = ("har", "next_word", "messages", "place", "anomaly", "tabular", "trees", "photos", "transfer", "keyword")
"""In the order in which they are listed."""


def load(name: str) -> Recipe:
    """The recipe of that name. Raises KeyError where there is none."""
    if name not in NAMES:
        raise KeyError(name)
    found = import_module(f"coterie_recipes.{name}").RECIPE
    assert isinstance(found, Recipe)
    return found


__all__ = ["NAMES", "Recipe", "load"]
