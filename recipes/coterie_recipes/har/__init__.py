"""Human activity from motion: what is somebody doing, from 2.56 s of a phone's acceleration?"""

from pathlib import Path

from coterie_recipes.har.generator import ACTIVITIES, draw
from coterie_recipes.har.reader import read
from coterie_recipes.recipe import Recipe, accuracy, most_frequent

RECIPE = Recipe(
    name="har",
    title="Human activity from motion",
    directory=Path(__file__).parent,
    input="acceleration",
    classes=ACTIVITIES,
    batch_size=16,
    people=12,
    draw=draw,
    read=read,
    baseline=most_frequent,
    score=accuracy,
    metric="accuracy",
)
