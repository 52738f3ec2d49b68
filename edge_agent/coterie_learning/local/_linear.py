"""A linear term ⟨d, w⟩ in a device's loss, implemented with the train step's proximal term.

The graph adds μ·(w - anchor) to the gradient. With anchor = w_t - d/μ that is d + μ·(w - w_t). μ is 2^-100: scaling by
a power of two is exact, w is negligible beside d/μ in float32, and where d is zero the remaining term is negligible
beside every gradient and every parameter. The graph therefore adds exactly d.
"""

import numpy as np

from coterie_wire.tensors import Tensors

WEIGHT = 2.0**-100
"""The proximal weight, μ."""


def anchor_of(received: Tensors, slope: Tensors) -> Tensors:
    """The anchor by which a step's gradient is increased by `slope`, d; both by parameter."""
    factor = np.float32(1 / WEIGHT)
    return {name: (tensor - factor * slope[name]).astype(np.float32) for name, tensor in received.items()}
