"""Anomalies of a machine's sensors, without labels: what cannot be put together again was not normal."""

from pathlib import Path

import numpy as np

from coterie_recipes.anomaly.generator import draw
from coterie_recipes.anomaly.reader import read
from coterie_recipes.recipe import Float32, Person, Recipe, area_under_curve


def _by_error(outputs: Float32, person: Person) -> float:
    """Of the windows that a model gives back, how well its error tells the anomalous from the normal."""
    return area_under_curve(((outputs - person.test.x) ** 2).mean(axis=1), person.truth)


def _by_deviation(person: Person) -> float:
    """How well the largest deviation of any sensor from its mean tells them."""
    return area_under_curve(np.abs(person.test.x).max(axis=1), person.truth)


RECIPE = Recipe(
    name="anomaly",
    title="Anomalies of sensors, no labels",
    directory=Path(__file__).parent,
    classes=(),
    batch_size=16,
    people=20,
    draw=draw,
    read=read,
    baseline=_by_deviation,
    score=_by_error,
    metric="area under the ROC curve, normal against anomalous windows",
    training={"loss": {"kind": "mean_squared_error"}},
)
