import numpy as np

from coterie.evaluation.digits import read_digits


def test_every_digit_is_there_and_looks_like_the_others_of_its_kind() -> None:
    images, labels = read_digits()
    assert (images.shape, images.dtype, labels.dtype) == ((1797, 1, 8, 8), np.float32, np.int64)
    assert (images.min(), images.max()) == (0, 1)
    means = np.stack([images[labels == digit].mean(axis=0) for digit in range(10)])
    nearest = np.square(images[:, None] - means).sum(axis=(2, 3, 4)).argmin(axis=1)
    assert np.mean(nearest == labels) > 0.9
