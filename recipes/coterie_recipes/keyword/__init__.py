"""Keyword spotting: which of seven words was said, or none, in a second of sound?"""

from pathlib import Path

from coterie_recipes.keyword.generator import KEYWORDS, draw
from coterie_recipes.keyword.reader import read
from coterie_recipes.recipe import Recipe, accuracy, most_frequent

RECIPE = Recipe(
    name="keyword",
    title="Keywords in speech",
    directory=Path(__file__).parent,
    classes=KEYWORDS,
    batch_size=16,
    people=12,
    draw=draw,
    read=read,
    baseline=most_frequent,
    score=accuracy,
    metric="accuracy",
)
