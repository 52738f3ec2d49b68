"""Clipping of an update to an L2 norm."""

import numpy as np

from coterie_wire.tensors import Tensors


def clip_factor(update: Tensors, norm: float) -> float:
    """The factor for all tensors of `update` that makes their joint L2 norm at most `norm`; 1 if it is already."""
    length = float(np.sqrt(sum(float(np.vdot(t, t)) for t in (v.astype(np.float64) for v in update.values()))))
    return 1.0 if length <= norm else norm / length


def clipped(update: Tensors, norm: float) -> Tensors:
    """`update`, scaled down as a whole where its norm exceeds `norm`."""
    factor = clip_factor(update, norm)
    if factor == 1:
        return update
    return {name: (tensor * np.float32(factor)).astype(np.float32) for name, tensor in update.items()}
