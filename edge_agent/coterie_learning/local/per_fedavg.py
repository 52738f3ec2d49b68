"""Per-FedAvg: meta-learning of a model that one step on a device's data adapts (Fallah et al. 2020, arXiv 2002.07948).

Algorithm 1: w ← w - β·(I - α·∇²f(w; D''))·∇f(w - α·∇f(w; D); D') with three batches a step. First-order: the second
derivative is left out. Hessian-free: its product with v is [∇f(w + δ·v; D'') - ∇f(w - δ·v; D'')]/(2δ) (section 5).
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta

from coterie_learning.local import GRADIENT_RATE, GraphNeeds, Local, StepScalars
from coterie_wire.tensors import Tensors


class PerFedAvg(Local, frozen=True, tag="per_fedavg"):
    """Descent on the loss after a step of size alpha (MAML); devices adapt the model by such a step before they use it.

    Works with any merge of models; the paper's weighs all devices equally.
    """

    steps: Annotated[int, Meta(ge=1, le=100_000, description="steps in one round, the paper's τ")] = 4
    alpha: Annotated[
        float, Meta(ge=0, le=100, description="α: size of the step that adapts the model; 0: plain descent")
    ] = 0.5
    beta: Annotated[float, Meta(gt=0, le=100, description="β: step size")] = 0.05
    hessian: Annotated[
        Literal["free", "none"],
        Meta(
            description="whether second derivatives count, by differences of gradients, or are left out (first-order)"
        ),
    ] = "free"
    delta: Annotated[float, Meta(gt=0, le=1, description="δ: distance over which gradients are compared")] = 1e-3
    since: ClassVar[str] = "0.2"

    def epochs_wanted(self) -> int:
        return 1

    def steps_wanted(self, epoch: int) -> int:  # noqa: ARG002 - all devices make the same number
        return self.steps * self.runs()

    def needs(self) -> GraphNeeds:
        return super().needs()._replace(plain_descent=True)

    def step_scalars(self, step: int) -> StepScalars:  # noqa: ARG002 - every run is for its gradient
        return StepScalars(learning_rate=GRADIENT_RATE)

    def adapts_by(self) -> float:
        return self.alpha

    def runs(self) -> int:
        return 4 if self.hessian == "free" else 2

    def batch(self, run: int) -> int:
        step, place = divmod(run, self.runs())
        return step * min(self.runs(), 3) + min(place, 2)  # both gradients of the difference are of the third batch

    def move(self, begun: Tensors, gradients: Sequence[Tensors]) -> Tensors:
        match gradients:
            case [first]:
                return _moved(begun, -self.alpha, first)
            case [_, step] if self.hessian == "none":
                return _moved(begun, -self.beta, step)
            case [_, step]:
                return _moved(begun, self.delta, step)
            case [_, step, _]:
                return _moved(begun, -self.delta, step)
            case [_, step, ahead, behind]:
                curved = self.alpha / (2 * self.delta)
                whole = {name: step[name] - np.float32(curved) * (ahead[name] - behind[name]) for name in step}
                return _moved(begun, -self.beta, whole)
        raise AssertionError(f"a step has {self.runs()} gradients, not {len(gradients)}")


def _moved(begun: Tensors, rate: float, direction: Tensors) -> Tensors:
    return {name: tensor + np.float32(rate) * direction[name] for name, tensor in begun.items()}
