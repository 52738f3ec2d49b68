"""The recipe: how a model is trained, as data that its train step is compiled from."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.compile.recipe import loss, optimiser, trains
from coterie.compile.recipe.loss import Loss
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.recipe.optimiser import Optimiser
from coterie.compile.recipe.optimiser.sgd import Sgd
from coterie.compile.recipe.trains import Trains
from coterie.compile.recipe.trains.whole import Whole
from coterie_learning.kinds import Registry
from coterie_learning.unknown_names import check_names
from coterie_wire.errors import WireError
from coterie_wire.structs import from_values

LOSS = Registry("loss", loss, Loss)
OPTIMISER = Registry("optimiser", optimiser, Optimiser)
TRAINS = Registry("trains", trains, Trains)


Clipping = Annotated[bool, Meta(description="whether a plan may clip gradients by their norm")]
Distillation = Annotated[
    bool,
    Meta(
        description="whether a plan may have a teacher, whose word on a batch is as large as the model's output for it"
    ),
]
Cut = Annotated[
    str,
    Meta(
        max_length=100,
        description="the input at which a network is split: the train step gives its gradient too; blank: none",
    ),
]


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a train step is compiled for. Numbers that a plan sets, as the learning rate, are inputs of the graph."""

    loss: Loss = CrossEntropy()
    optimiser: Optimiser = Sgd()
    trains: Trains = Whole()
    clipping: Clipping = False
    distillation: Distillation = True
    cut: Cut = ""


def parse_recipe(raw: object) -> Recipe:
    """Parse a recipe: each choice as ``{"kind": name, **settings}``; omitted settings have their defaults.

    Raises WireError ``recipe.invalid``.
    """
    try:
        check_names(raw, _Choices, of="recipe")
        given = from_values(raw, _Choices)
        return Recipe(
            loss=LOSS.parse(given.loss),
            optimiser=OPTIMISER.parse(given.optimiser),
            trains=TRAINS.parse(given.trains),
            clipping=given.clipping,
            distillation=given.distillation,
            cut=given.cut,
        )
    except msgspec.ValidationError as error:
        raise WireError("recipe.invalid", f"recipe: {error}") from error
    except WireError as error:
        raise WireError("recipe.invalid", error.detail) from error


def recipe_document(recipe: Recipe) -> dict[str, object]:
    """`recipe` as JSON with every setting written out."""
    return from_values(msgspec.to_builtins(recipe), dict[str, object])


def recipe_schema() -> Mapping[str, Mapping[str, object]]:
    """JSON schema by choice and kind, for validation elsewhere and for drawing forms; switches have no kinds."""
    switches: dict[str, Mapping[str, object]] = msgspec.json.schema(_Switches)["$defs"]["_Switches"]["properties"]
    return {choice.slot: choice.schema() for choice in (LOSS, OPTIMISER, TRAINS)} | switches


class _Switches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    clipping: Clipping = False
    distillation: Distillation = True


class _Choices(_Switches, frozen=True, forbid_unknown_fields=True):
    loss: object = msgspec.field(default_factory=lambda: {"kind": "cross_entropy"})
    optimiser: object = msgspec.field(default_factory=lambda: {"kind": "sgd"})
    trains: object = msgspec.field(default_factory=lambda: {"kind": "all"})
    cut: Cut = ""
