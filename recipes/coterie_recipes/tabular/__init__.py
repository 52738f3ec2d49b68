"""Faults of machines from a table: will this work-piece end in a fault?"""

from pathlib import Path

import numpy as np

from coterie_recipes.recipe import Float32, Person, Recipe, area_under_curve
from coterie_recipes.tabular.generator import FAULTS, WEAR, draw
from coterie_recipes.tabular.reader import read


def _area(outputs: Float32, person: Person) -> float:
    return area_under_curve(outputs[:, 1] - outputs[:, 0], person.truth)


def _by_wear(person: Person) -> float:
    """What the tool's wear alone tells."""
    return area_under_curve(np.asarray(person.test.x[:, WEAR]), person.truth)


RECIPE = Recipe(
    name="tabular",
    title="Faults of machines, from a table",
    directory=Path(__file__).parent,
    classes=FAULTS,
    batch_size=32,
    people=20,
    draw=draw,
    read=read,
    baseline=_by_wear,
    score=_area,
    metric="area under the ROC curve, sound against faulty",
)
