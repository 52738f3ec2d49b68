"""What a train step is tried with before there are samples."""

from typing import cast

import numpy as np

from coterie.evaluation.datasets import Dataset, Targets
from coterie.evaluation.train_step import Batch
from coterie_learning.local import StepScalars
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.tensors import Array


def made_up_batch(model: ModelSpec, *, whole: int = 0) -> Batch:
    """Noise for numbers, `whole` for whole numbers, of which every vocabulary has 0; and a teacher without opinion."""
    generator = np.random.default_rng(0)

    def samples(spec: TensorSpec) -> Array:
        shape = (model.batch_size, *spec.shape)
        return generator.random(shape, np.float32) if spec.dtype == "float32" else np.full(shape, whole, spec.dtype)

    targets = cast(Targets, samples(model.target))
    if model.classes:
        targets = np.arange(model.batch_size, dtype=np.int64) % model.classes
    teacher = np.full((model.batch_size, *model.output.shape), 1 / model.output.shape[-1], np.float32)
    return Batch(Dataset({spec.name: samples(spec) for spec in model.inputs}, targets), teacher)


def made_up_weights(model: ModelSpec) -> StepScalars:
    """Those of the train step's scalars that a plan sets, each in use."""
    tried = {"momentum": 0.9, "weight_decay": 0.01, "clip_norm": 1.0, "distillation_weight": 0.5}
    return StepScalars(
        learning_rate=0.01,
        proximal_weight=0.01,
        **{name: value for name, value in tried.items() if name in model.scalars},
    )
