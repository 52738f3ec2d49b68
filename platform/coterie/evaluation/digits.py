"""The handwritten digits that come with scikit-learn, read without it: importing it takes a second."""

from importlib.metadata import distribution

import numpy as np
from numpy.typing import NDArray


def read_digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """All 1,797: images [n, 1, 8, 8] in 0..1 and labels [n].

    Raises PackageNotFoundError where scikit-learn is not installed.
    """
    path = distribution("scikit-learn").locate_file("sklearn/datasets/data/digits.csv.gz")
    table = np.loadtxt(str(path), np.float32, delimiter=",")
    return table[:, :-1].reshape(-1, 1, 8, 8) / np.float32(16), table[:, -1].astype(np.int64)
