"""The mean update, times a step that shrinks from round to round: η_t = η/(1 + γ·t).

On unlike data FedAvg reaches the best model only with steps that shrink (Li et al. 2020, arXiv 1907.02189, theorem 1
and section 4); here the platform's do, so that devices need not know of it.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from coterie_learning.merge import Aggregate, Finished, Merge, Reads, ServerState
from coterie_wire.tensors import Tensors

ROUNDS = "rounds"


class Decaying(Merge, frozen=True, tag="acme_decaying"):
    """FedAvg whose versions move less and less; what was not learned in the first rounds is learned slowly."""

    learning_rate: Annotated[
        float, Meta(gt=0, le=10, description="η: share of the mean that the first round applies")
    ] = 1.0
    decay: Annotated[float, Meta(ge=0, le=100, description="γ: how fast it shrinks; 0: not, as with fed_avg")] = 0.1
    reads: ClassVar[Reads] = "sums"

    def counted(self, samples: Sequence[int]) -> Sequence[int]:
        return samples

    def init(self, parameters: Tensors) -> ServerState:  # noqa: ARG002 - it remembers no tensors
        return ServerState(notes={ROUNDS: 0})

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        rounds = int(state.notes[ROUNDS])
        step = self.learning_rate / (1 + self.decay * rounds)
        parameters = {name: tensor + step * aggregate[name] for name, tensor in base.items()}
        return Finished(parameters, ServerState(notes={ROUNDS: rounds + 1}))
