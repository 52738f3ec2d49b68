"""Colla's cloud update: L = λ_c·CE(y, p) + (1 - λ_c)·CE(mean output of devices, p) (Lu et al. 2019, SEC, stage 4).

The devices' models are run on the cloud data set; no sample of theirs is needed. Dropping the worst of them is the
paper's defence against poisoned ones.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.grouping.distances import ModelOutputs
from coterie_learning.kinds import Resources
from coterie_learning.merge import Merge, Reads
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.tensors import Float32

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class DistillMerge(Merge, frozen=True, tag="distill"):
    """The cloud model learns from the mean output of devices' models; the device model is then distilled from it."""

    lambda_c: Annotated[
        float, Meta(ge=0, le=1, description="weight of the cloud data's labels; the rest is the devices'")
    ] = 0.5
    drop_share: Annotated[
        float, Meta(ge=0, lt=1, description="share of the devices' models that is dropped, the worst on the cloud data")
    ] = 0.3
    epochs: Annotated[int, Meta(ge=1, le=10_000, description="passes over the cloud data at most, cloud model")] = 60
    learning_rate: Annotated[float, Meta(gt=0, le=10, description="step size of the cloud model's AdamW")] = 1e-3
    batch_size: Annotated[int, Meta(ge=1, le=65_536, description="samples in a step of the cloud model")] = 32
    patience: Annotated[
        int, Meta(ge=1, le=10_000, description="epochs without a better one before either training stops")
    ] = 20
    validation_share: Annotated[
        float, Meta(gt=0, lt=1, description="share of the cloud data that is held back to stop by")
    ] = 0.1
    device_epochs: Annotated[
        int, Meta(ge=1, le=10_000, description="passes over the cloud data at most, device model")
    ] = 100
    device_learning_rate: Annotated[float, Meta(gt=0, le=10, description="step size of the device model's descent")] = (
        0.05
    )
    device_momentum: Annotated[float, Meta(ge=0, lt=1, description="share of the last step kept; 0 is none")] = 0.9
    device_label_weight: Annotated[
        float, Meta(ge=0, le=1, description="weight of the labels for the device model; the rest is the cloud model's")
    ] = 0.0
    reads: ClassVar[Reads] = "models"
    trains_cloud_model: ClassVar[bool] = True

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        if model is not None and (model.task != "classes" or not model.classes):
            return Reason("plan.needs_classes", f"merging by distillation is for classes, not for {model.task}")
        if resources is not None and not resources.cloud_data:
            return Reason("plan.needs_cloud_data", "it teaches the cloud model with a data set of the platform's")
        return None

    def retained_models(self, accuracies: Sequence[float]) -> tuple[int, ...]:
        """The models that count, by their accuracies on the cloud data: all but the worst share, at least one.

        The share is rounded to the nearest number of models. Ties go to the earlier model. A model whose outputs are
        not finite has accuracy NaN and is always dropped, so that none may be left.
        """
        sound = [index for index, accuracy in enumerate(accuracies) if not math.isnan(accuracy)]
        unsound = len(accuracies) - len(sound)
        dropped = max(0, min(math.floor(self.drop_share * len(accuracies) + 0.5) - unsound, len(sound) - 1))
        best = sorted(sound, key=lambda index: (-accuracies[index], index))
        return tuple(sorted(best[: len(best) - dropped]))


def mean_output(outputs: ModelOutputs, members: Sequence[int]) -> Float32:
    """The mean of `outputs` [models, samples, classes] over `members`, read one model at a time; [samples, classes].

    A class that a model does not have is zero there.
    """
    total = np.zeros(outputs.shape[1:], np.float64)
    for member in members:
        total += outputs[member]
    mean: Float32 = (total / len(members)).astype(np.float32)
    return mean
