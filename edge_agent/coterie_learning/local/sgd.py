"""Stochastic gradient descent: the local solver of FedAvg (McMahan et al. 2017, arXiv 1602.05629, Algorithm 1)."""

from coterie_learning.local._descent import Descent


class Sgd(Descent, frozen=True, tag="sgd"):
    """Plain epochs of mini-batch descent on the device's own samples."""
