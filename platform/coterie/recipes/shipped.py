"""The files of a recipe, read."""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.recipes.errors import UnknownRecipe
from coterie.simulation.scenario import read_toml
from coterie_learning.plan import Plan, parse_plan, plan_document
from coterie_learning.unknown_names import nearest
from coterie_recipes import NAMES, Recipe, load
from coterie_wire.structs import from_values

PLAN, PRETRAINING_PLAN = "plan.toml", "pretraining.toml"
"""Of a recipe's own federation, and of the one before it."""
Share = Annotated[float, Meta(ge=0, le=1)]


class Scores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Mean of the people's scores, each on its own newest samples; in the recipe's own measure."""

    baseline: Share
    alone: Share
    """Each person's model, trained on its own samples only."""
    federation: Share
    """The version after the last round."""
    devices: Share
    """What answers on the devices at the end: the personal model where it is better on what they hold out."""
    centralised: Share
    """The same model trained on everybody's samples in one place."""
    new_federation: Share
    """The version, for people who took no part."""
    new_centralised: Share


class Remembered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The score on what the backbone was trained for, with that task's own output layer."""

    before: Share
    """As the devices get it, in int8, before the first round."""
    after: Share
    """With what the federation has trained."""


class Pretrained(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What pre-training is worth: the version's score without it, and both where all labels are known."""

    without: Share
    """With the few labels, from parameters drawn at random."""
    labelled: Share
    """With every label, after pre-training."""
    labelled_without: Share
    """With every label, from parameters drawn at random: the control, where pre-training gains little."""


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a recipe was found to give, and what it promises."""

    seeds: Annotated[int, Meta(ge=1)]
    """Over which the figures are means: 0, 1, …"""
    rounds: Annotated[int, Meta(ge=1, le=1000)]
    over_alone: float
    """By how much the devices are better than alone, at least; negative where they are worse, which is said then."""
    under_centralised: float
    """By how much they are worse than centralised, at most; negative where they are better."""
    scores: Scores
    says: str
    """In a sentence, what a federation is good for here, and what not."""
    original: Remembered | None = None
    """Of a recipe with a backbone."""
    pretraining: Pretrained | None = None
    """Of a recipe that pre-trains."""


def checked_recipe(name: str) -> Recipe:
    """Raises UnknownRecipe."""
    try:
        return load(name)
    except KeyError:
        raise UnknownRecipe(name=name, nearest=nearest(name, NAMES) or "none", known=", ".join(NAMES)) from None


def plan_of(recipe: Recipe, *, devices: int, file: str = PLAN) -> Plan:
    """The plan of its federation; a round asks for as many of `devices` at most as there are."""
    document = plan_document(parse_plan(read_toml(recipe.directory / file)))
    pace = from_values(document["pace"], dict[str, object])
    most = {name: min(from_values(pace[name], int), devices) for name in ("target_updates", "min_updates")}
    return parse_plan({**document, "pace": {**pace, **most}})


def expected_of(recipe: Recipe) -> Expected:
    """Its figures."""
    return from_values(read_toml(recipe.directory / "expected.toml"), Expected)
