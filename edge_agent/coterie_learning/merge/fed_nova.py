"""FedNova, on the platform: w ← w + (Σ p_k‖a_k‖₁)·Σ p_k Δ_k/‖a_k‖₁ (Wang et al. 2020, arXiv 2007.07481, equation 6)."""

from typing import ClassVar

from coterie_learning.merge import Aggregate, Finished, ServerState
from coterie_learning.merge._mean import MeanUpdate
from coterie_wire.tensors import Tensors

NORMALISER = "normaliser"


class FedNova(MeanUpdate, frozen=True, tag="fed_nova"):
    """The mean normalised update, times the mean number of steps, which removes objective inconsistency."""

    since: ClassVar[str] = "0.2"
    half_of: ClassVar[str | None] = "FedNova"

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        steps = aggregate.scalars[NORMALISER]
        return Finished({name: tensor + steps * aggregate[name] for name, tensor in base.items()}, state)
