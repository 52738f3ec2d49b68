"""Signs in photos, from few pictures each: a fleet trains adapters and a head on a backbone that saw other things."""

from pathlib import Path

from coterie_recipes.photos import RECIPE as PHOTOS
from coterie_recipes.recipe import Original, Recipe, accuracy, most_frequent
from coterie_recipes.transfer.backbone import HEAD, read_backbone
from coterie_recipes.transfer.generator import SIGNS, draw
from coterie_recipes.transfer.reader import read

RECIPE = Recipe(
    name="transfer",
    title="Signs in photos, on a pretrained backbone",
    directory=Path(__file__).parent,
    input="picture",
    classes=SIGNS,
    batch_size=16,
    people=12,
    draw=draw,
    read=read,
    baseline=most_frequent,
    score=accuracy,
    metric="accuracy",
    training={
        "trains": {
            "kind": "adapters",
            "weights": ["hidden.weight", "features.weight"],
            "rank": 4,
            "alpha": 8,
            "names": [f"{HEAD}.*"],
        }
    },
    original=Original(
        title=PHOTOS.title,
        draw=PHOTOS.draw,
        score=PHOTOS.score,
        head=lambda: {name: tensor for name, tensor in read_backbone().items() if name.startswith(f"{HEAD}.")},
    ),
)
