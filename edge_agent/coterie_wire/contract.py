"""The names, dtypes and shapes of what a device model's graphs take and give, as `ModelSpec` promises them."""

import math
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import UNSET

from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.length import Length

DISTILLATION = "distillation_weight"
"""The scalar of those train steps that take a teacher's word."""
PARAMETER_ROLES = ("anchor",)
"""Roles of the inputs that a train step graph takes beside each parameter NAME, as ROLE.NAME."""
TARGET = "target"
"""What the graphs call that which the model's output is compared with."""
LOSSES = "losses"
"""What the prediction graph of a model with a loss of its own gives beside the output: float32 [batch]."""
TASKS_WITH_ACCURACY = frozenset({"classes", "labels", "tokens"})
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
            *(tensor for role in PARAMETER_ROLES for tensor in _called(role, spec.parameters)),
            *_called("state", running_statistics(spec)),
            *spec.optimiser_state,
            *spec.frozen,
        )
    )


def train_outputs(spec: ModelSpec) -> Mapping[str, TensorSpec]:
    """What ``train_step.onnx`` gives, by name."""
    figures = ("loss", "correct") if spec.task in TASKS_WITH_ACCURACY else ("loss",)
    return _by_name(
        (
            *(TensorSpec(name, "float32", ()) for name in figures),
            *(_batched(tensor, spec.batch_size) for tensor in _called("gradient", cut_inputs(spec))),
            *_called("next", step_state(spec)),
        )
    )


def cut_inputs(spec: ModelSpec) -> tuple[TensorSpec, ...]:
    """The input at which the network is split, of one sample; none where it is whole."""
    return tuple(tensor for tensor in spec.inputs if tensor.name == spec.cut)


def predict_inputs(spec: ModelSpec) -> Mapping[str, TensorSpec]:
    """What ``predict.onnx`` takes, by name; `sample_inputs` have a batch axis of any size before their shape."""
    return _by_name(
        (
            *sample_inputs(spec),
            *_called("param", spec.parameters),
            *_called("state", running_statistics(spec)),
            *spec.frozen,
        )
    )


def sample_inputs(spec: ModelSpec) -> tuple[TensorSpec, ...]:
    """What ``predict.onnx`` takes of each sample."""
    return (*spec.inputs, spec.target) if spec.own_loss else spec.inputs


def predict_outputs(spec: ModelSpec) -> Mapping[str, TensorSpec]:
    """What ``predict.onnx`` gives of each sample, by name; the model's output is the first."""
    return _by_name((spec.output, *([TensorSpec(LOSSES, "float32", ())] if spec.own_loss else [])))


def step_state(spec: ModelSpec) -> tuple[TensorSpec, ...]:
    """What one step hands to the next, under the names of the train step's inputs: parameters, statistics, slots."""
    return (*_called("param", spec.parameters), *_called("state", running_statistics(spec)), *spec.optimiser_state)


def running_statistics(spec: ModelSpec) -> tuple[TensorSpec, ...]:
    """The running statistics, one tensor after the other."""
    return tuple(tensor for pair in spec.statistics for tensor in (pair.mean, pair.variance))


def version_names(spec: ModelSpec) -> Mapping[str, str]:
    """By the name of each tensor of a version, what the graphs call it."""
    return {
        **{tensor.name: f"param.{tensor.name}" for tensor in spec.parameters},
        **{tensor.name: f"state.{tensor.name}" for tensor in running_statistics(spec)},
    }


def length_axes(spec: ModelSpec) -> Mapping[str, int]:
    """By the name of each tensor of a batch that has it, as the graphs take or give it, the axis of the length."""
    if spec.length is UNSET:
        return {}
    axes = {name: axis + 1 for name, axis in spec.length.axes.items()}
    return {**axes, "teacher": axes[spec.output.name]} if spec.output.name in axes else axes


def at_length(spec: ModelSpec, length: int) -> ModelSpec:
    """The contract of batches whose samples all have `length`; of a model without lengths its own."""
    if spec.length is UNSET:
        return spec
    bounds = spec.length
    return msgspec.structs.replace(
        spec,
        inputs=tuple(at_sample_length(tensor, bounds, length) for tensor in spec.inputs),
        target=at_sample_length(spec.target, bounds, length),
        output=at_sample_length(spec.output, bounds, length),
        length=UNSET,
    )


def at_sample_length(tensor: TensorSpec, bounds: Length, length: int) -> TensorSpec:
    """One tensor of a sample that has `length`; `tensor` is as it is in the longest."""
    return TensorSpec(tensor.name, tensor.dtype, bounds.shape(tensor.name, tensor.shape, length))


def input_size(spec: ModelSpec) -> int:
    """Numbers that one sample has, the longest one, over all inputs of the model."""
    return sum(math.prod(tensor.shape) for tensor in spec.inputs)


def target_size(spec: ModelSpec) -> int:
    """Numbers that the target of one sample has, of the longest one; 0 where it is a class."""
    return 0 if spec.task == "classes" else math.prod(spec.target.shape)


def length_of(spec: ModelSpec, numbers: int) -> int | None:
    """How long a sample of so many `numbers` is, 0 where the model knows no lengths; None where no sample has so many.

    The numbers of a sample are linear in its length.
    """
    if spec.length is UNSET:
        return 0 if numbers == input_size(spec) else None
    first, second = (input_size(at_length(spec, length)) for length in (1, 2))
    beyond, rest = divmod(numbers - first, second - first)
    fits = rest == 0 and spec.length.shortest <= beyond + 1 <= spec.length.longest
    return beyond + 1 if fits else None


def accepted_sizes(spec: ModelSpec) -> str:
    """How many numbers a sample may have, for people."""
    if spec.length is UNSET:
        return str(input_size(spec))
    least, most = spec.length.shortest, spec.length.longest
    return f"{input_size(at_length(spec, least))} to {input_size(spec)}, in samples {least} to {most} long"


def padding_value(tensor: TensorSpec, spec: ModelSpec) -> int:
    """What the `tensor` of a short sample is filled up with: what may be a token with padding, all else with zeros."""
    return spec.padding or 0 if tensor.dtype in ("int64", "int32") else 0


def _called(role: str, tensors: Iterable[TensorSpec]) -> Iterator[TensorSpec]:
    return (TensorSpec(f"{role}.{tensor.name}", tensor.dtype, tensor.shape) for tensor in tensors)


def _batched(tensor: TensorSpec, size: int) -> TensorSpec:
    return TensorSpec(tensor.name, tensor.dtype, (size, *tensor.shape))


def _by_name(tensors: Iterable[TensorSpec]) -> Mapping[str, TensorSpec]:
    return {tensor.name: tensor for tensor in tensors}
