"""Newton's method on a linear model: W ← W - η·(H + λI)⁻¹(G + λW), with G and H the means over all samples.

With squared error, the first round is the exact solution of ridge regression (Hoerl and Kennard 1970): the devices'
Gram matrices are summed. With cross-entropy or binary cross-entropy, rounds are those of iteratively reweighted least
squares, of which a few suffice; with more than two classes, each is solved separately with a bound of the curvature
(Krishnapuram et al. 2005, section 3). It loses where there are so many columns that their square is too large to send.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Float64
from coterie_learning.merge._solving import Solving
from coterie_wire.tensors import Float32, Tensors


class Newton(Solving, frozen=True, tag="newton"):
    """One Newton step over the data of all devices in each round.

    The model's parameters, for K outputs of D columns: ``weight`` [K, D] and ``bias`` [K]; the tables are ``gradients``
    [K, D + 1] and ``curvatures`` [K · (D + 1), D + 1], the column of ones last.
    """

    learning_rate: Annotated[float, Meta(gt=0, le=1, description="η: share of the step that is taken")] = 1.0
    l2: Annotated[
        float, Meta(ge=0, le=1e6, description="λ: ridge on the weights, per sample; the intercept has none")
    ] = 1e-3
    takes: ClassVar[frozenset[str]] = frozenset({"weight", "bias"})

    def solve(self, model: Tensors, gradients: Float64, curvatures: Float64) -> Mapping[str, Float32 | Float64]:
        outputs, columns = gradients.shape
        now = np.concatenate([model["weight"], model["bias"][:, None]], axis=1).astype(np.float64)
        ridge = self.l2 * np.append(np.ones(columns - 1), 0.0)
        systems = curvatures.reshape(outputs, columns, columns) + np.diag(ridge)
        slopes = gradients + ridge * now
        # Constant columns, or no data: the minimum-norm solution.
        steps = [np.linalg.lstsq(system, slope, rcond=None)[0] for system, slope in zip(systems, slopes, strict=True)]
        solved = now - self.learning_rate * np.stack(steps)
        return {"weight": solved[:, :-1], "bias": solved[:, -1]}
