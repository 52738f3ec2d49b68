"""Place prediction: what kind of place does somebody go to next?"""

from pathlib import Path

from coterie_recipes.place.generator import PLACES, draw
from coterie_recipes.place.reader import read
from coterie_recipes.recipe import Recipe, accuracy, most_frequent

RECIPE = Recipe(
    name="place",
    title="Next place somebody goes to",
    directory=Path(__file__).parent,
    classes=PLACES,
    batch_size=16,
    people=20,
    draw=draw,
    read=read,
    baseline=most_frequent,
    score=accuracy,
    metric="accuracy",
)
