"""Photos: which of eight things is in a picture, of people whose cameras and favourites differ?"""

from pathlib import Path

from coterie_recipes.photos.generator import THINGS, draw
from coterie_recipes.photos.reader import read
from coterie_recipes.recipe import Recipe, accuracy, most_frequent

RECIPE = Recipe(
    name="photos",
    title="Things in photos",
    directory=Path(__file__).parent,
    input="picture",
    classes=THINGS,
    batch_size=16,
    people=12,
    draw=draw,
    read=read,
    baseline=most_frequent,
    score=accuracy,
    metric="accuracy",
)
