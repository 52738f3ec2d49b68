"""Compile a PyTorch device model into ordinary ONNX graphs: the train step and prediction."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import helper
from torch import Tensor
from torch.export import ExportedProgram

from coterie.learning.compile.emitter import ONNX_TYPES, Emitter
from coterie.learning.compile.errors import BatchOutOfRange
from coterie.learning.compile.head import find_head
from coterie.learning.compile.lower import lower
from coterie.learning.compile.program import CheckedProgram, check_program
from coterie.learning.compile.signature import Signature
from coterie.learning.compile.trace import StepInputs, StepScalars, trace_predict, trace_train_step
from coterie_wire.bundle import ModelSpec, TensorSpec

SCALARS = StepScalars._fields


class CompiledModel(NamedTuple):
    """What a device needs of a model; `ModelSpec` states the contract of the graphs."""

    spec: ModelSpec
    train_step: bytes
    predict: bytes
    parameters: Mapping[str, NDArray[np.float32]]


def compile_model(program: ExportedProgram, *, batch_size: int) -> CompiledModel:
    """The graphs and initial parameters of `program`; `export_module` makes one of an nn.Module.

    `batch_size` is the fixed number of samples in a train step; prediction takes any number.
    Raises UnsupportedOperator, which names the operator and its module, RunningStatistics, MutatedState, FixedBatch,
    BatchOutOfRange, UnsupportedSignature or UnsupportedParameter.
    """
    checked = check_program(program)
    _check_batch(program, checked, batch_size)
    spec = ModelSpec(
        inputs=checked.signature.inputs,
        classes=checked.signature.classes,
        batch_size=batch_size,
        parameters=_parameter_specs(checked),
        head=find_head(program, checked.parameters.keys()),
    )
    return CompiledModel(
        spec=spec,
        train_step=_compile_train_step(checked, spec),
        predict=_compile_predict(checked),
        parameters={name: tensor.numpy().copy() for name, tensor in checked.parameters.items()},
    )


class CompiledPrediction(NamedTuple):
    """What it takes to predict with a model whose parameters are given: the graph of a teacher."""

    signature: Signature
    parameters: tuple[TensorSpec, ...]
    predict: bytes


def compile_prediction(program: ExportedProgram) -> CompiledPrediction:
    """The prediction graph alone, of a model that no device trains. Raises what `compile_model` raises."""
    checked = check_program(program)
    return CompiledPrediction(
        signature=checked.signature,
        parameters=_parameter_specs(checked),
        predict=_compile_predict(checked),
    )


def _parameter_specs(checked: CheckedProgram) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(name, "float32", tuple(tensor.shape)) for name, tensor in checked.parameters.items())


def _compile_train_step(checked: CheckedProgram, spec: ModelSpec) -> bytes:
    parameters = list(checked.parameters.values())
    batch = spec.batch_size
    given = StepInputs(
        inputs=[torch.empty(batch, *tensor.shape[1:], dtype=tensor.dtype) for tensor in checked.inputs.values()],
        target=torch.empty(batch, dtype=torch.int64),
        sample_weight=torch.empty(batch),
        teacher=torch.empty(batch, spec.classes),
        scalars=StepScalars(*(torch.empty(()) for _ in SCALARS)),
        parameters=parameters,
        anchors=[torch.empty_like(tensor) for tensor in parameters],
        velocities=[torch.empty_like(tensor) for tensor in parameters],
    )
    module = trace_train_step(checked.training, given)
    inputs = [
        *(_info(tensor.name, value) for tensor, value in zip(spec.inputs, given.inputs, strict=True)),
        _info("target", given.target),
        _info("sample_weight", given.sample_weight),
        _info("teacher", given.teacher),
        *(_info(name, value) for name, value in zip(SCALARS, given.scalars, strict=True)),
        *(
            _info(f"{role}.{name}", value)
            for role in ("param", "anchor", "velocity")
            for name, value in checked.parameters.items()
        ),
    ]
    outputs = [
        _info("loss", given.scalars.momentum),
        _info("correct", given.scalars.momentum),
        *(
            _info(f"next.{role}.{name}", value)
            for role in ("param", "velocity")
            for name, value in checked.parameters.items()
        ),
    ]
    emit = Emitter()
    values = lower(module, emit, [info.name for info in inputs])
    return emit.finish(
        "train_step", inputs, {info.name: (value, info) for info, value in zip(outputs, values, strict=True)}
    )


def _compile_predict(checked: CheckedProgram) -> bytes:
    module = trace_predict(checked.prediction, list(checked.inputs.values()), list(checked.parameters.values()))
    inputs = [
        *(_info(name, value, batch="batch") for name, value in checked.inputs.items()),
        *(_info(f"param.{name}", value) for name, value in checked.parameters.items()),
    ]
    emit = Emitter(batch_input=checked.signature.inputs[0].name)
    (value,) = lower(module, emit, [info.name for info in inputs])
    logits = helper.make_tensor_value_info("logits", ONNX_TYPES[torch.float32], ["batch", checked.signature.classes])
    return emit.finish("predict", inputs, {"logits": (value, logits)})


def _check_batch(program: ExportedProgram, checked: CheckedProgram, batch_size: int) -> None:
    batch = next(iter(checked.inputs.values())).shape[0]
    assert isinstance(batch, torch.SymInt)
    symbol = batch.node.expr
    bounds = program.range_constraints.get(symbol)
    if bounds is not None and not bounds.lower <= batch_size <= bounds.upper:
        raise BatchOutOfRange(batch_size=batch_size, smallest=int(bounds.lower), largest=str(bounds.upper))


def _info(name: str, tensor: Tensor, *, batch: str | None = None) -> onnx.ValueInfoProto:
    shape: Sequence[int | str] = list(tensor.shape) if batch is None else [batch, *tensor.shape[1:]]
    return helper.make_tensor_value_info(name, ONNX_TYPES[tensor.dtype], shape)
