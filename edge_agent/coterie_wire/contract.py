"""The names, dtypes and shapes of what a device model's graphs take and give, as `ModelSpec` promises them."""

from collections.abc import Iterable, Iterator, Mapping

from coterie_wire.bundle import ModelSpec, TensorSpec

DISTILLATION = "distillation_weight"
"""The scalar of those train steps that take a teacher's word."""
TARGET = "target"
"""What the graphs call that which the model's output is compared with."""
LOSSES = "losses"
"""What the prediction graph of a model with a loss of its own gives beside the output: float32 [batch]."""
MEASURED = frozenset({"classes", "labels", "tokens"})
"""Tasks whose samples can be right or wrong."""


def train_inputs(spec: ModelSpec) -> Mapping[str, TensorSpec]:
    """What ``train_step.onnx`` takes, by name, with the batch axis where there is one."""
    size = spec.batch_size
    return _by_name(
        (
            *(_batched(tensor, size) for tensor in (*spec.inputs, spec.target)),
            TensorSpec("sample_weight", "float32", (size,)),
            *([TensorSpec("teacher", "float32", (size, *spec.output.shape))] if DISTILLATION in spec.scalars else []),
            *(TensorSpec(name, "float32", ()) for name in spec.scalars),
            *([TensorSpec("seed", "int64", ())] if spec.seeded else []),
            *_called("param", spec.parameters),
            *_called("anchor", spec.parameters),
            *_called("state", gathered(spec)),
            *spec.slots,
            *spec.frozen,
        )
    )


def train_outputs(spec: ModelSpec) -> Mapping[str, TensorSpec]:
    """What ``train_step.onnx`` gives, by name."""
    figures = ("loss", "correct") if spec.task in MEASURED else ("loss",)
    return _by_name((*(TensorSpec(name, "float32", ()) for name in figures), *_called("next", carried(spec))))


def predict_inputs(spec: ModelSpec) -> Mapping[str, TensorSpec]:
    """What ``predict.onnx`` takes, by name; `predict_batched` have a batch axis of any size before their shape."""
    return _by_name(
        (*predict_batched(spec), *_called("param", spec.parameters), *_called("state", gathered(spec)), *spec.frozen)
    )


def predict_batched(spec: ModelSpec) -> tuple[TensorSpec, ...]:
    """What ``predict.onnx`` takes of each sample."""
    return (*spec.inputs, spec.target) if spec.own_loss else spec.inputs


def predict_outputs(spec: ModelSpec) -> Mapping[str, TensorSpec]:
    """What ``predict.onnx`` gives of each sample, by name; the model's output is the first."""
    return _by_name((spec.output, *([TensorSpec(LOSSES, "float32", ())] if spec.own_loss else [])))


def carried(spec: ModelSpec) -> tuple[TensorSpec, ...]:
    """What one step hands to the next, under the names of the train step's inputs: parameters, statistics, slots."""
    return (*_called("param", spec.parameters), *_called("state", gathered(spec)), *spec.slots)


def gathered(spec: ModelSpec) -> tuple[TensorSpec, ...]:
    """The running statistics, one tensor after the other."""
    return tuple(tensor for pair in spec.statistics for tensor in (pair.mean, pair.variance))


def version_names(spec: ModelSpec) -> Mapping[str, str]:
    """By the name of each tensor of a version, what the graphs call it."""
    return {
        **{tensor.name: f"param.{tensor.name}" for tensor in spec.parameters},
        **{tensor.name: f"state.{tensor.name}" for tensor in gathered(spec)},
    }


def _called(role: str, tensors: Iterable[TensorSpec]) -> Iterator[TensorSpec]:
    return (TensorSpec(f"{role}.{tensor.name}", tensor.dtype, tensor.shape) for tensor in tensors)


def _batched(tensor: TensorSpec, size: int) -> TensorSpec:
    return TensorSpec(tensor.name, tensor.dtype, (size, *tensor.shape))


def _by_name(tensors: Iterable[TensorSpec]) -> Mapping[str, TensorSpec]:
    return {tensor.name: tensor for tensor in tensors}
