"""Adagrad on the server: v ← v + Δ² (Reddi et al. 2021, arXiv 2003.00295, Algorithm 2, FedAdagrad)."""

from coterie_learning.merge import Float64
from coterie_learning.merge._adaptive import AdaptiveServer


class FedAdagrad(AdaptiveServer, frozen=True, tag="fed_adagrad"):
    """A step of Adagrad along the mean of the updates; its state is two numbers for each parameter.

    The paper's FedAdagrad has no momentum: `beta_1` = 0.
    """

    def second_moment(self, former: Float64, square: Float64) -> Float64:
        return former + square
