"""A cloud model as PyTorch runs it: an exported program with its state, in training or in evaluation."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule
from torch.fx.node import Node

from coterie.cloud.arrays import array_of, tensor_of
from coterie.cloud.computing import ON_CPU, Computing
from coterie.compile.dtypes import DTYPES
from coterie.compile.errors import UnsupportedParameter
from coterie.compile.flat import joined
from coterie.compile.loss_program import Criterion, LossProgram
from coterie.compile.losses import LossAndGradient, loss_and_gradient, soft_targets
from coterie.compile.own_gradients import refuse_own_gradients
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.recipe.loss.next_token import NextToken
from coterie.compile.service import in_service
from coterie.compile.signature import Signature, check_signature
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import Evaluation, score
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Float32, decode_tensors, encode_tensors

Run = Callable[..., Sequence[Tensor]]
"""Operators: a function of inputs and stored tensors, in the program's order."""
EVALUATION_BATCH = 256
CLASSIFIER = CrossEntropy()


class TrainingGraph(NamedTuple):
    """A program's operators, in training mode."""

    module: GraphModule
    inputs: tuple[Node, ...]
    """Placeholders for a batch's inputs."""
    stored: Mapping[Node, str]
    """All others: the tensor of the state, or the constant, that each takes."""
    outputs: tuple[Node, ...]


class CloudProgram:
    """Parameters and buffers are its own tensors; training changes them in place."""

    def __init__(self, program: ExportedProgram, loss: Criterion = CLASSIFIER, computing: Computing = ON_CPU) -> None:
        """Parameters on PyTorch's device ``meta`` have no numbers until `put` sets them.

        Raises UnsupportedSignature, UnsupportedParameter, LossMismatch, NoGradient or FixedBatch.
        """
        self.loss = loss
        """On the CPU."""
        self.computing = computing
        for name, tensor in program.state_dict.items():
            if tensor.dtype not in DTYPES:
                raise UnsupportedParameter(name=name, found=str(tensor.dtype).removeprefix("torch."))
            if tensor.is_meta:
                continue
            is_mask = name in program.graph_signature.buffers  # which may hold infinities
            if bool(tensor.isnan().any()) or not (is_mask or bool(tensor.isfinite().all())):
                raise UnsupportedParameter(name=name, found="not finite")
        self.signature: Signature = check_signature(program, loss)
        refuse_own_gradients(program)
        self._training = computing.graph(program.graph_module)
        self._service = in_service(self._training, program.graph_signature.inputs_to_buffers)
        self._loss_in_training = (
            loss.on(computing.device) if isinstance(loss, LossProgram) and computing.on_gpu else loss
        )
        self._forward = torch.compile(self._training) if computing.compiled else self._training
        self._specs = program.graph_signature.input_specs
        self._outputs = len(program.graph_signature.user_outputs)
        self._constants = {
            name: value.to(computing.device) for name, value in program.constants.items() if isinstance(value, Tensor)
        }
        self.state = {name: _own(tensor, computing.device) for name, tensor in program.state_dict.items()}
        self.parameters = {name: nn.Parameter(self.state[name]) for name in program.graph_signature.parameters}
        self.state |= self.parameters

    def training_graph(self) -> TrainingGraph:
        """The graph that `train_logits` runs."""
        nodes = self._training.graph.nodes
        placed = list(zip((node for node in nodes if node.op == "placeholder"), self._specs, strict=True))
        (output,) = (node for node in nodes if node.op == "output")
        return TrainingGraph(
            self._training,
            inputs=tuple(node for node, spec in placed if spec.kind is InputKind.USER_INPUT),
            stored={node: str(spec.target) for node, spec in placed if spec.kind is not InputKind.USER_INPUT},
            outputs=tuple(output.args[0][-self._outputs :]),
        )

    def train_logits(self, inputs: Sequence[Tensor]) -> Tensor:
        """Logits [n, classes] with dropout, and statistics updated."""
        return self.train_by(self._forward, inputs)

    def train_by(self, graph: Run, inputs: Sequence[Tensor]) -> Tensor:
        """`train_logits` by another form of its graph."""
        with self.computing.in_training():
            return self.run(graph, inputs).to(torch.float32)

    def loss_and_gradient(self, output: Tensor, target: Tensor, weight: Tensor | None = None) -> LossAndGradient:
        """Of a batch's logits; `weight` [n] of its samples is 1 by default."""
        weight = torch.ones(len(target), device=target.device) if weight is None else weight
        return loss_and_gradient(self._loss_in_training, output, target, weight, None)

    def inputs_of(self, batch: Dataset) -> list[Tensor]:
        """The batch's inputs, in the program's order."""
        return [tensor.to(self.computing.device) for tensor in as_tensors(batch)]

    def target_of(self, batch: Dataset) -> Tensor:
        """The batch's target, as its loss takes it in training."""
        return torch.from_numpy(batch.labels).to(self.computing.device)

    def logits(self, dataset: Dataset) -> Tensor:
        """Logits [n, classes] of all samples, in evaluation mode, on the CPU; the state does not change."""
        with torch.no_grad():
            starts = range(0, len(dataset.labels), EVALUATION_BATCH)
            parts = [dataset.take(slice(start, start + EVALUATION_BATCH)) for start in starts]
            return torch.cat([self.run(self._service, self.inputs_of(part)).cpu() for part in parts])

    def score(self, dataset: Dataset) -> Evaluation:
        """Evaluate it on `dataset`, in evaluation mode."""
        padding = self.loss.padding if isinstance(self.loss, NextToken) else None
        output, own = self.logits(dataset), None
        if isinstance(self.loss, LossProgram):
            own = self.loss.losses(output, torch.from_numpy(dataset.labels)).numpy()
        return score(output.numpy(), dataset.labels, task=self.loss.task, padding=padding, own=own)

    def probabilities(self, dataset: Dataset) -> Float32:
        """The teacher's probabilities for each sample, [n, classes]."""
        found: Float32 = soft_targets(self.loss, self.logits(dataset)).numpy()
        return found

    def save(self) -> bytes:
        """The state as a tensor file."""
        return encode_tensors({name: array_of(tensor) for name, tensor in self.state.items()})

    def load(self, content: bytes) -> None:
        """Load the state from a tensor file that `save` wrote."""
        for name, array in decode_tensors(content, expected=self.tensor_specs()).items():
            if self.state[name].is_meta:
                self.put(name, tensor_of(array))
            else:
                with torch.no_grad():
                    self.state[name].copy_(tensor_of(array))

    def put(self, name: str, numbers: Tensor) -> None:
        """Set a parameter to `numbers`; on device ``meta``, to no numbers."""
        self.parameters[name] = nn.Parameter(numbers if numbers.is_meta else numbers.to(self.computing.device))
        self.state[name] = self.parameters[name]

    def tensor_specs(self) -> tuple[TensorSpec, ...]:
        """The tensors of the state's file."""
        return tuple(TensorSpec(name, DTYPES[tensor.dtype], tuple(tensor.shape)) for name, tensor in self.state.items())

    def run(self, graph: Run, inputs: Sequence[Tensor]) -> Tensor:
        """The output of a graph that takes the same inputs as the program."""
        remaining = iter(inputs)
        values = []
        for spec in self._specs:
            if spec.kind is InputKind.USER_INPUT:
                values.append(next(remaining))
            else:
                values.append(self.stored(str(spec.target)))
        return joined(graph(*values)[-self._outputs :])

    def stored(self, name: str) -> Tensor:
        """A tensor of the state, or a constant."""
        return self.state[name] if name in self.state else self._constants[name]


def _own(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy on `device`; of a meta tensor, a meta tensor."""
    copy = tensor.detach().clone()
    return copy if copy.is_meta else copy.to(device)


def as_tensors(dataset: Dataset) -> list[Tensor]:
    """The inputs of `dataset` in the order in which models take them."""
    return [torch.from_numpy(array) for array in dataset.inputs.values()]
