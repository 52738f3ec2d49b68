"""Adagrad on the server: v ← v + Δ² (Reddi et al. 2021, arXiv 2003.00295, Algorithm 2, FedAdagrad)."""

from coterie_learning.merge import Float64
from coterie_learning.merge._adaptive import AdaptiveServer


class FedAdagrad(AdaptiveServer, frozen=True, tag="fed_adagrad"):
    """Steps that shrink with what a parameter has moved so far; it remembers two numbers for each parameter.

    The paper's Adagrad keeps nothing of the first moment: `beta_1` = 0.
    """

    def second_moment(self, former: Float64, square: Float64) -> Float64:
        return former + square
