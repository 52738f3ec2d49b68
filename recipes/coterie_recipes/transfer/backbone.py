"""The backbone as a file: parameters of a network that was trained elsewhere, by name, in NumPy's archive format."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from coterie_recipes.recipe import Float32, UnreadableData

BACKBONE = Path(__file__).parent / "backbone.npz"
"""Made by ``python -m coterie_recipes.transfer.pretraining``; it tells the eight things of ``photos`` apart."""
HEAD = "head"
"""The layer of the backbone's own task: it is in the file, and gives way to a new one."""
SHAPES: Mapping[str, tuple[int, ...]] = {
    "edges.weight": (32, 3, 3, 3),
    "edges.bias": (32,),
    "parts.weight": (48, 32, 3, 3),
    "parts.bias": (48,),
    "hidden.weight": (64, 768),
    "hidden.bias": (64,),
    "features.weight": (64, 64),
    "features.bias": (64,),
    "head.weight": (8, 64),
    "head.bias": (8,),
}


def read_backbone(path: Path = BACKBONE) -> Mapping[str, Float32]:
    """The parameters in the file at `path`. Raises UnreadableData where it is no backbone of this shape."""
    try:
        content = io.BytesIO(path.read_bytes())
        if not zipfile.is_zipfile(content):
            raise UnreadableData(f"{path} is no NPZ archive")
        with np.load(content, allow_pickle=False) as file:
            found = {name: np.asarray(file[name], np.float32) for name in file.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UnreadableData(f"{path}: {error}") from error
    shapes = {name: tensor.shape for name, tensor in found.items()}
    wrong = sorted(name for name in SHAPES.keys() | shapes.keys() if shapes.get(name) != SHAPES.get(name))
    if wrong:
        name = wrong[0]
        there, wanted = shapes.get(name, "missing"), SHAPES.get(name, "left out")
        raise UnreadableData(f"{path}: {name} is {there}, and must be {wanted}")
    unknown = [name for name, tensor in found.items() if not np.isfinite(tensor).all()]
    if unknown:
        raise UnreadableData(f"{path}: a number of {unknown[0]} is not finite")
    return found
