"""The pair for rows of six numbers about 0, float32 [n, 6]: boosted trees, and a network as cloud model."""

from coterie_recipes.solved import BoostedTrees
from coterie_recipes.tabular.models import CLASSES, COLUMNS, CloudModel, example

__all__ = ["CloudModel", "DeviceModel", "example"]


class DeviceModel(BoostedTrees):
    """60 trees of 5 levels: 57,479 parameters, of which 49,152 are cells of tables. [n, 6] to logits [n, 2]."""

    def __init__(self) -> None:
        super().__init__([(-3.0, 3.0)] * COLUMNS, outputs=CLASSES, trees=60, levels=5, bins=128)
