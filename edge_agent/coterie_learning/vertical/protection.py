"""Protection of labels in the gradients that are sent back over the cut.

A sample's gradient by the values at the cut points away from its class: k-means on the gradients of one epoch finds
most labels (Li et al., Label Leakage and Protection in Two-party Split Learning (2022), arXiv 2102.08504). Gradients
are therefore clipped to twice the mean norm of their batch, since outliers would be recognisable, and normal noise that
is a multiple of that mean is added to each number. The noise averages out over many people for training; over the
epochs it also does, to a lesser degree, for an observer of one person. No bound is proven: `make bench NAME=vertical`
measures guesses.
"""

import hashlib

import numpy as np

from coterie_wire.tensors import Float32

DEFAULT_NOISE = 2.0
_LONGEST = 2.0
"""Clipping bound, in mean norms."""


def protect(gradient: Float32, *, noise: float, secret: bytes, number: int) -> Float32:
    """`gradient` [samples, width] of step `number`, clipped, with normal noise of `noise` times the mean norm.

    The noise is drawn from `secret`, so that a repeated step sends the same bits. 0: the gradient is unchanged.
    """
    if noise == 0:
        return gradient
    lengths = np.linalg.norm(gradient.astype(np.float64), axis=1, keepdims=True)
    mean = float(lengths.mean())
    bounded = gradient * np.minimum(1, _LONGEST * mean / np.maximum(lengths, 1e-12))
    draw = np.random.Generator(np.random.Philox(key=_key(secret, number)))
    noisy: Float32 = (bounded + noise * mean * draw.standard_normal(gradient.shape)).astype(np.float32)
    return noisy


def _key(secret: bytes, number: int) -> int:
    digest = hashlib.blake2b(number.to_bytes(8, "little"), key=secret, digest_size=16, person=b"coterie-cut").digest()
    return int.from_bytes(digest, "little")
