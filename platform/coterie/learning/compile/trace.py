"""From an exported program to graphs of core ATen operators: one training step, and prediction."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor
from torch._dispatch.python import enable_python_dispatcher
from torch._functorch.compile_utils import fx_graph_cse
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch._subclasses.functional_tensor import dispatch_functionalize
from torch.fx import GraphModule, Interpreter
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import Node
from torch.fx.traceback import preserve_node_meta
from torch.nn.attention import SDPBackend, sdpa_kernel

from coterie.learning.compile.composites import COMPOSITES
from coterie.learning.compile.errors import ExportFailed, UnsupportedOperator
from coterie.learning.compile.gradients.table import decompositions
from coterie.learning.compile.lower import module_path
from coterie.learning.compile.passes.joined_slices import joined_slices
from coterie.learning.compile.passes.late_expand import late_expand
from coterie.learning.compile.passes.pool_before_relu import pool_before_relu

TINY_WEIGHT = 1e-12
"""Keeps a batch whose weights are all zero from dividing by zero."""

Forward = Callable[[Sequence[Tensor], Sequence[Tensor]], Tensor]
"""Parameters and inputs to logits."""


_REFUSALS = (RuntimeError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError)
"""What PyTorch raises on operators and arguments that it cannot run."""


class StepScalars(NamedTuple):
    """The scalar inputs of a train step, float32 []."""

    learning_rate: Tensor
    momentum: Tensor
    proximal_weight: Tensor
    distillation_weight: Tensor


class StepInputs(NamedTuple):
    """What a train step takes."""

    inputs: list[Tensor]
    target: Tensor
    sample_weight: Tensor
    teacher: Tensor
    scalars: StepScalars
    parameters: list[Tensor]
    anchors: list[Tensor]
    velocities: list[Tensor]


def train_step(forward: Forward, given: StepInputs) -> tuple[Tensor, ...]:
    """Loss, weighted hits, next parameters, next velocities.

    The loss of a sample is (1 - d)·CE(target, p) + d·CE(teacher, p), d the distillation weight; that of the batch is
    their mean by sample weight. The proximal term (Li et al. 2020, arXiv 1812.06127) enters the gradient that is
    followed; the loss that is given is without it.
    """
    scalars = given.scalars
    logits, pull_back, *_ = torch.func.vjp(lambda parameters: forward(parameters, given.inputs), given.parameters)
    classes = torch.arange(logits.shape[1])
    hot = (given.target.unsqueeze(1) == classes).to(torch.float32)
    wanted = hot + scalars.distillation_weight * (given.teacher - hot)
    weight = given.sample_weight / torch.clamp(given.sample_weight.sum(), min=TINY_WEIGHT)
    log_probabilities = torch.log_softmax(logits, dim=1)
    loss = -(weight.unsqueeze(1) * wanted * log_probabilities).sum()
    # The loss's gradient by the logits, in closed form; a teacher's row need not sum to one.
    mass = wanted.sum(dim=1, keepdim=True)
    (gradients,) = pull_back((torch.exp(log_probabilities) * mass - wanted) * weight.unsqueeze(1))
    hits = (given.sample_weight * (logits.argmax(dim=1) == given.target).to(torch.float32)).sum()
    velocities = [
        scalars.momentum * velocity + (gradient + scalars.proximal_weight * (parameter - anchor))
        for velocity, gradient, parameter, anchor in zip(
            given.velocities, gradients, given.parameters, given.anchors, strict=True
        )
    ]
    parameters = [
        parameter - scalars.learning_rate * velocity
        for parameter, velocity in zip(given.parameters, velocities, strict=True)
    ]
    return (loss, hits, *parameters, *velocities)


class _NamingInterpreter(Interpreter):
    """Runs a program and says which operator of which module failed."""

    def run_node(self, n: Node) -> object:
        try:
            if composite := COMPOSITES.get(str(n.target)):
                args, kwargs = self.fetch_args_kwargs_from_env(n)
                with self._set_current_node(n):
                    return composite(*args, **kwargs)
            return super().run_node(n)
        except _REFUSALS as error:
            reason = str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__
            raise UnsupportedOperator(operator=str(n.target), module=module_path(n), reason=reason) from error


class FlatProgram(NamedTuple):
    """An exported program whose parameters are arguments and whose buffers and constants are fixed."""

    graph: GraphModule
    parameters: tuple[str, ...]
    inputs: tuple[str, ...]
    arguments: tuple[str | Tensor, ...]
    """What each placeholder takes: the name of a parameter or an input, or a fixed tensor."""

    def forward(self, parameters: Sequence[Tensor], inputs: Sequence[Tensor]) -> Tensor:
        """Logits."""
        named = dict(zip((*self.parameters, *self.inputs), (*parameters, *inputs), strict=True))
        values = [named[argument] if isinstance(argument, str) else argument for argument in self.arguments]
        logits: Tensor = _NamingInterpreter(self.graph).run(*values)[0]
        return logits


def trace_train_step(program: FlatProgram, given: StepInputs) -> GraphModule:
    """The graph of one step at the shapes of `given`; its inputs are those of `given` in order, flat."""
    program = program._replace(graph=pool_before_relu(program.graph))
    sizes = (len(given.inputs), 3, 4, *(len(given.parameters),) * 3)

    def flat(*tensors: Tensor) -> tuple[Tensor, ...]:
        remaining = iter(tensors)
        inputs, fixed, scalars, parameters, anchors, velocities = ([next(remaining) for _ in range(n)] for n in sizes)
        return train_step(
            program.forward,
            StepInputs(inputs, fixed[0], fixed[1], fixed[2], StepScalars(*scalars), parameters, anchors, velocities),
        )

    flattened = [
        *given.inputs,
        given.target,
        given.sample_weight,
        given.teacher,
        *given.scalars,
        *given.parameters,
        *given.anchors,
        *given.velocities,
    ]
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        module = _trace(flat, [mode.from_tensor(tensor) for tensor in flattened])
    joined_slices(module)
    late_expand(module)
    return module


def trace_predict(program: FlatProgram, inputs: Sequence[Tensor], parameters: Sequence[Tensor]) -> GraphModule:
    """The graph from inputs and parameters to logits; `inputs` are fake tensors whose batch is symbolic."""
    count = len(inputs)

    def flat(*tensors: Tensor) -> tuple[Tensor, ...]:
        return (program.forward(tensors[count:], tensors[:count]),)

    assert isinstance(inputs[0], FakeTensor)
    mode = inputs[0].fake_mode
    with mode, torch.no_grad():
        return _trace(flat, [*inputs, *(mode.from_tensor(tensor, static_shapes=True) for tensor in parameters)])


@contextmanager
def _without_onednn() -> Iterator[None]:
    """oneDNN has operators of its own, for LSTM for one; its public switch warns where there is no Intel GPU."""
    enabled = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(enabled)


def _trace(function: Callable[..., tuple[Tensor, ...]], arguments: Sequence[Tensor]) -> GraphModule:
    try:
        with (
            enable_python_dispatcher(),
            preserve_node_meta(),
            sdpa_kernel(SDPBackend.MATH),
            _without_onednn(),
        ):
            module = make_fx(dispatch_functionalize(function), decomposition_table=dict(decompositions()))(*arguments)
    except _REFUSALS as error:
        raise ExportFailed(detail=str(error).strip()[:400]) from error
    _forget_pool_indices(module)
    module.graph = fx_graph_cse(module.graph)
    module.graph.eliminate_dead_code()
    return module


def _forget_pool_indices(module: GraphModule) -> None:
    """Where nothing asks which element was the greatest."""
    for node in module.graph.nodes:
        if node.target is torch.ops.aten.max_pool2d_with_indices.default:
            if any(user.args[1] == 1 and user.users for user in node.users):
                continue
            for user in list(node.users):
                user.replace_all_uses_with(node)
            node.target = torch.ops.aten.max_pool2d.default
            node.meta["val"] = node.meta["val"][0]
