"""Recipes from files and from a command's options."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from coterie.compile.recipe import LOSS, OPTIMISER, TRAINS, Recipe, recipe_document
from coterie_learning.plan import Document
from coterie_wire.errors import WireError

CHOICES = (LOSS, OPTIMISER, TRAINS)


def read_recipe(path: Path) -> Document:
    """The recipe in a TOML file, or a JSON file if it is called so. Raises WireError ``recipe.invalid``."""
    try:
        text = path.read_text(encoding="utf-8")
        found: object = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise WireError("recipe.invalid", f"recipe: {path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise WireError("recipe.invalid", f"recipe: {path} holds no table of choices")
    return found


def with_options(recipe: Document, kinds: Mapping[str, str], settings: Iterable[str]) -> Document:
    """`recipe` with other kinds, by choice, and `settings` such as ``trains.rank=4`` or ``clipping=true``.

    A choice that is named anew loses the settings it had; one that is only set keeps its kind, or the default one.
    Raises WireError ``recipe.invalid``.
    """
    defaults = recipe_document(Recipe())
    made: Document = {**recipe, **{choice: {"kind": kind} for choice, kind in kinds.items()}}
    for setting in settings:
        path, given, text = setting.partition("=")
        choice, dotted, field = path.partition(".")
        if not given or not path:
            raise WireError("recipe.invalid", f"recipe: {setting!r} sets nothing; write FIELD=VALUE")
        if not dotted:
            made[choice] = _value(text)
        elif choice in defaults and isinstance(before := made.get(choice, defaults[choice]), dict):
            made[choice] = {"kind": before.get("kind"), **cast(Document, before), field: _value(text)}
        else:
            known = ", ".join(registry.slot for registry in CHOICES)
            raise WireError("recipe.invalid", f"recipe: there is no choice {choice!r}; choose among {known}")
    return made


def _value(text: str) -> object:
    """JSON where it is some, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
