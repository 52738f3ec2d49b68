"""The requirements on a program to be compiled, and its flat form."""

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import GraphModule
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.fx.node import Node
from torch.fx.traceback import annotate_fn

from coterie.compile.adapters import adapt
from coterie.compile.advice import ADVICE, advise
from coterie.compile.diagnosis import diagnose, users_lines
from coterie.compile.errors import (
    ExportFailed,
    MutatedState,
    NothingTrains,
    UnsupportedOperator,
    UnsupportedParameter,
    UnsupportedSignature,
)
from coterie.compile.flat import Argument, FlatProgram
from coterie.compile.frozen import bear_rounding, freeze
from coterie.compile.loose_weights import refuse_loose_weights
from coterie.compile.loss_program import LOSS, Criterion
from coterie.compile.node_places import place_of
from coterie.compile.only_the_error import only_the_error
from coterie.compile.own_gradients import refuse_own_gradients
from coterie.compile.passes.autocast_blocks import without_autocast
from coterie.compile.passes.detached_blocks import detached_blocks
from coterie.compile.recipe.trains import Trains
from coterie.compile.service import in_service
from coterie.compile.signature import Signature, check_signature, input_tensor
from coterie.compile.source_locations import SourceLocation
from coterie.compile.statistics import Statistics, settle_statistics
from coterie.compile.traceable import traceable
from coterie.compile.whole_layers import whole_layers
from coterie_wire.length import Length
from coterie_wire.tensors import Array


def export_module(module: nn.Module, example: Sequence[Tensor], length: Length | None = None) -> ExportedProgram:
    """`module` as a program in training mode, whose batch is dynamic. `example` are inputs with a leading batch axis.

    Where samples differ in `length`, it names inputs as `forward` calls them, and the axes of one sample; examples are
    two long at least. Raises ExportFailed, DataDependent, BatchBecameConstant, LengthBecameConstant, or KeyError where
    `length` names no input.
    """
    batch = torch.export.Dim("batch", min=1)
    _check_example(module, example)
    shapes: dict[str, object] = {}
    for name, given in inspect.signature(module.forward).bind(*example).arguments.items():
        shapes[name] = {0: batch} if isinstance(given, Tensor) else tuple({0: batch} for _ in given)
    if length is not None:
        long = torch.export.Dim("length", min=length.shortest, max=length.longest)
        for name, axis in length.axes.items():
            shapes[name] = {0: batch, axis + 1: long}
    around = nullcontext() if length is None else whole_layers()
    return _exported(module, tuple(map(_doubled, example)), shapes, around)


@contextmanager
def in_mode(module: nn.Module, *, training: bool) -> Iterator[None]:
    """All parts of `module` in one mode within the block; afterwards each in its former mode."""
    modes = [(part, part.training) for part in module.modules()]
    module.train(training)
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def _check_example(module: nn.Module, example: Sequence[Tensor]) -> None:
    """Raises ExportFailed where `example` is not what ``forward`` takes."""
    problem = None
    if isinstance(module, type):
        problem = f"it is given the class {module.__name__}: give a module, {module.__name__}()"
    elif not all(isinstance(tensor, Tensor) and tensor.dim() for tensor in example):
        problem = "an example is no tensor with a batch axis: let forward take tensors, each by a name of its own"
    elif len({len(tensor) for tensor in example}) > 1:
        sizes = ", ".join(str(len(tensor)) for tensor in example)
        problem = f"the examples have {sizes} samples: give as many of each"
    else:
        parameters = inspect.signature(module.forward)
        try:
            parameters.bind(*example)
        except TypeError:
            problem = f"forward takes {parameters}, and not {len(example)} tensors: give an example for each argument"
    if problem is not None:
        raise ExportFailed(detail=problem, **SourceLocation("", "").fields())


def export_loss(function: Callable[..., Tensor], output: Tensor | Sequence[Tensor], target: Tensor) -> ExportedProgram:
    """A loss as a program: `function` of a batch of outputs and their targets, of which there are examples [n, ...].

    Of a model with several outputs it takes the tuple of them. Raises what `export_module` raises.
    """
    batch = torch.export.Dim("batch", min=1)
    outputs = (output,) if isinstance(output, Tensor) else tuple(output)
    module = _Loss(function, alone=isinstance(output, Tensor))
    shapes = (tuple({0: batch} for _ in outputs), {0: batch})
    example = (tuple(map(_doubled, outputs)), _doubled(target))
    return _exported(module, example, shapes, nullcontext(), loss=function)


Shapes = tuple[object, ...] | dict[str, object]


class _Loss(nn.Module):
    def __init__(self, function: Callable[..., Tensor], *, alone: bool) -> None:
        super().__init__()
        # PyTorch writes down the lines of functions called `forward`, and of those that say something about themselves.
        noted = function if isinstance(function, nn.Module) else annotate_fn({})(function)
        self.function, self._alone = noted, alone

    def forward(self, outputs: tuple[Tensor, ...], target: Tensor) -> Tensor:
        return self.function(outputs[0] if self._alone else outputs, target)


def _exported(
    module: nn.Module,
    example: tuple[object, ...],
    shapes: Shapes,
    around: AbstractContextManager[None],
    loss: Callable[..., Tensor] | None = None,
) -> ExportedProgram:
    """`module` as a program; where it is a `loss`, errors say so."""
    owner = "" if loss is None else LOSS
    try:
        with warnings.catch_warnings(), only_the_error(), users_lines(), traceable(), around:
            # Recurrent layers keep a list of their weights beside the weights; nothing is lost with it.
            warnings.filterwarnings("ignore", "The tensor attributes .* were assigned during export", UserWarning)
            with in_mode(module, training=True):
                program = torch.export.export(module, example, dynamic_shapes=shapes)
        program = without_autocast(detached_blocks(program), owner)
    except (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError) as error:
        raise diagnose(error, module, loss) from error
    _refuse_unknown_sizes(program, owner)
    refuse_loose_weights(program, module)
    return program


def _refuse_unknown_sizes(program: ExportedProgram, owner: str) -> None:
    """Raises UnsupportedOperator where the size of an operator's result depends on the data."""
    for node in program.graph.nodes:
        value = node.meta.get("val")
        given = value if isinstance(value, (tuple, list)) else [value]
        if any(isinstance(part, Tensor) and free_unbacked_symbols(part) for part in given):
            reason = advise(str(node.target)) or ADVICE["nonzero"]
            place = place_of(node).within(owner)
            raise UnsupportedOperator(operator=str(node.target), reason=reason, **place.fields())


def _doubled(tensor: Tensor) -> Tensor:
    """A batch of 1 would be specialised to a constant."""
    return torch.cat([tensor.detach()] * 2) if len(tensor) == 1 else tensor.detach()


class CheckedProgram(NamedTuple):
    """A program that fulfils the contract of a model."""

    training: FlatProgram
    prediction: FlatProgram
    """In evaluation mode."""
    inputs: Mapping[str, Tensor]
    """Fake tensors with a symbolic batch, and perhaps length, by name."""
    parameters: Mapping[str, Tensor]
    """The trained tensors."""
    statistics: Statistics
    frozen: Mapping[str, Array]
    """The others, by the names of the graphs' inputs."""
    signature: Signature


def check_program(program: ExportedProgram, loss: Criterion, trains: Trains, *, freezes: bool = True) -> CheckedProgram:
    """Check `program` for a recipe; unless it `freezes`, all parameters are treated as trained.

    Raises RunningStatistics, MutatedState, UnsupportedParameter, UnsupportedSignature, UnboundedLength, LossMismatch,
    NoGradient, NothingTrains or FixedBatch.
    """
    signature = check_signature(program, loss)
    refuse_own_gradients(program)
    graph, statistics = settle_statistics(program, trains, freezes=freezes)
    _refuse_mutation(program, graph, statistics)
    parameters: dict[str, Tensor] = {}
    inputs: dict[str, Tensor] = {}
    frozen: dict[str, Array] = {}
    known: dict[str, Tensor] = {}
    taken: dict[str, Argument] = {}
    arguments: list[Argument] = []
    coarse = bear_rounding(program)
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    for spec, node in zip(program.graph_signature.input_specs, placeholders, strict=True):
        match spec.kind:
            case InputKind.PARAMETER:
                assert spec.target is not None
                name = _tied(spec.target, program.state_dict[spec.target].detach(), known)
                if name not in known:
                    known[name] = program.state_dict[name].detach()
                    tensor = _checked_parameter(name, known[name])
                    if not freezes or (program.state_dict[name].requires_grad and trains.trains(name)):
                        parameters[name] = tensor
                        taken[name] = f"param.{name}"
                    else:
                        kept = freeze(name, tensor, coarse=node.name in coarse)
                        taken[name] = kept.argument
                        frozen.update(kept.tensors)
                arguments.append(taken[name])
            case InputKind.USER_INPUT:
                inputs[node.name] = input_tensor(node)
                arguments.append(node.name)
            case InputKind.BUFFER if spec.target in statistics.averages:
                arguments.append(statistics.averages[spec.target])
            case InputKind.BUFFER if spec.target in statistics.values:
                arguments.append(f"state.{spec.target}")
            case InputKind.BUFFER | InputKind.CONSTANT_TENSOR:
                assert spec.target is not None
                source = program.state_dict if spec.target in program.state_dict else program.constants
                arguments.append(source[spec.target].detach())
            case other:
                raise UnsupportedSignature(found=f"argument {node.name} is a {other.name.lower()}")
    training = FlatProgram(graph, tuple(arguments))
    if adapters := adapt(program, training, trains):
        training = adapters.program
        parameters.update(adapters.parameters)
    if not parameters:
        names = list(program.graph_signature.parameters)
        raise NothingTrains(names=", ".join(names[:5]) or "none")
    return CheckedProgram(
        training=training,
        prediction=training._replace(graph=in_service(training.graph, program.graph_signature.inputs_to_buffers)),
        inputs=inputs,
        parameters=parameters,
        statistics=statistics,
        frozen=frozen,
        signature=signature,
    )


def _refuse_mutation(program: ExportedProgram, graph: GraphModule, statistics: Statistics) -> None:
    """Refuse writes that are no averages, whether in place, in part, or by an output that replaces the input."""
    for output in program.graph_signature.output_specs:
        if output.kind is not OutputKind.USER_OUTPUT:
            writing = next((node for node in graph.graph.nodes if node.name == output.arg.name), None)
            place = SourceLocation("", "") if writing is None else place_of(writing)
            raise MutatedState(name=str(output.target), **place.fields())
    for node in graph.graph.nodes:
        if not isinstance(node.target, OpOverload) or not node.target._schema.is_mutable:
            continue
        written, whole = node.args[0], True
        while isinstance(written, Node) and written.args and _shows(written):
            whole = whole and not _is_view(written)
            written = written.args[0]
        if isinstance(written, Node) and written.op == "placeholder":
            name = program.graph_signature.inputs_to_buffers.get(written.name, written.name)
            if name not in statistics.averages or not whole:
                raise MutatedState(name=name, **place_of(node).fields())


def _shows(node: Node) -> bool:
    """Whether a node's result shares the memory of its first argument."""
    returns = node.target._schema.returns if isinstance(node.target, OpOverload) else []
    return any(given.alias_info is not None for given in returns)


def _is_view(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and not node.target._schema.is_mutable


def _tied(name: str, tensor: Tensor, known: Mapping[str, Tensor]) -> str:
    """The first name of a tensor with several, such as tied weights: it is one parameter."""
    for first, other in known.items():
        if tensor.untyped_storage().data_ptr() == other.untyped_storage().data_ptr() and tensor.numel():
            if (tensor.shape, tensor.stride(), tensor.storage_offset()) != (
                other.shape,
                other.stride(),
                other.storage_offset(),
            ):
                raise UnsupportedParameter(name=name, found=f"another view of {first!r}'s memory")
            return first
    return name


def _checked_parameter(name: str, tensor: Tensor) -> Tensor:
    if tensor.dtype != torch.float32:
        raise UnsupportedParameter(name=name, found=str(tensor.dtype).removeprefix("torch."))
    if not bool(torch.isfinite(tensor).all()):
        raise UnsupportedParameter(name=name, found="not finite")
    return tensor.contiguous()
