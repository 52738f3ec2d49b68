"""Faults of machines from a table, by boosted trees that the machines grow together."""

from pathlib import Path

from coterie_recipes.recipe import Recipe
from coterie_recipes.tabular import RECIPE as TABULAR

RECIPE = Recipe(
    name="trees",
    title="Faults of machines, by boosted trees",
    directory=Path(__file__).parent,
    classes=TABULAR.classes,
    batch_size=64,
    people=TABULAR.people,
    draw=TABULAR.draw,
    read=TABULAR.read,
    baseline=TABULAR.baseline,
    score=TABULAR.score,
    metric=TABULAR.metric,
    training={"optimiser": {"kind": "second_order"}},
)
