"""The recipe: how a model is trained, as data that its train step is compiled from."""

import msgspec

from coterie.learning.recipe import loss, optimiser, trains
from coterie.learning.recipe.loss import Loss
from coterie.learning.recipe.loss.cross_entropy import CrossEntropy
from coterie.learning.recipe.optimiser import Optimiser
from coterie.learning.recipe.optimiser.sgd import Sgd
from coterie.learning.recipe.trains import Trains
from coterie.learning.recipe.trains.whole import Whole
from coterie_wire.errors import WireError
from coterie_wire.kinds import Registry

LOSS = Registry("loss", loss, Loss)
OPTIMISER = Registry("optimiser", optimiser, Optimiser)
TRAINS = Registry("trains", trains, Trains)


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a train step is compiled for. Numbers that a plan sets, as the learning rate, are inputs of the graph."""

    loss: Loss = CrossEntropy()
    optimiser: Optimiser = Sgd()
    trains: Trains = Whole()
    clipping: bool = False
    """Whether a plan may clip gradients by their norm."""
    distillation: bool = True
    """Whether a plan may have a teacher, whose word on a batch is as large as the model's output for it."""


def parse_recipe(raw: object) -> Recipe:
    """The recipe that JSON stands for: each choice as ``{"kind": name, **settings}``; what is left out has its default.

    Raises WireError ``recipe.invalid``.
    """
    try:
        given = msgspec.convert(raw, _Choices)
        return Recipe(
            loss=LOSS.parse(given.loss),
            optimiser=OPTIMISER.parse(given.optimiser),
            trains=TRAINS.parse(given.trains),
            clipping=given.clipping,
            distillation=given.distillation,
        )
    except msgspec.ValidationError as error:
        raise WireError("recipe.invalid", f"recipe: {error}") from error
    except WireError as error:
        raise WireError("recipe.invalid", error.detail) from error


def recipe_document(recipe: Recipe) -> dict[str, object]:
    """`recipe` as JSON with every setting written out."""
    return msgspec.convert(msgspec.to_builtins(recipe), dict[str, object])


class _Choices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    loss: object = msgspec.field(default_factory=lambda: {"kind": "cross_entropy"})
    optimiser: object = msgspec.field(default_factory=lambda: {"kind": "sgd"})
    trains: object = msgspec.field(default_factory=lambda: {"kind": "all"})
    clipping: bool = False
    distillation: bool = True
