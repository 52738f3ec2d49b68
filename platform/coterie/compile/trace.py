"""From functions of named tensors to graphs of core ATen operators."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch._subclasses.functional_tensor import dispatch_functionalize
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta
from torch.nn.attention import SDPBackend, sdpa_kernel

from coterie.compile.errors import NoGradient
from coterie.compile.explanations import explain
from coterie.compile.flat import REFUSALS
from coterie.compile.gradients.table import decompositions
from coterie.compile.lower import BODY
from coterie.compile.passes.computed_twice import share_computed_twice
from coterie.compile.source_locations import SourceLocation
from coterie.compile.stepping import LOOP, Looped

Named = Mapping[str, Tensor]


class Traced(NamedTuple):
    """A graph whose inputs and outputs are those of a function, in its order."""

    module: GraphModule
    outputs: tuple[str, ...]


def trace(function: Callable[[Named], Named], given: Named) -> Traced:
    """Trace `function` at the shapes of `given`; where one of these is a fake tensor, the others become fake, too.

    Raises NoGradient or UnsupportedOperator.
    """
    outputs: list[str] = []

    def flat(*tensors: Tensor) -> tuple[Tensor, ...]:
        results = function(dict(zip(given, tensors, strict=True)))
        outputs[:] = results
        return tuple(results.values())

    fake = [tensor for tensor in given.values() if isinstance(tensor, FakeTensor)]
    mode = fake[0].fake_mode if fake else FakeTensorMode(allow_non_fake_inputs=True)
    with mode:
        arguments = [
            tensor if isinstance(tensor, FakeTensor) else mode.from_tensor(tensor, static_shapes=True)
            for tensor in given.values()
        ]
        module = _trace(flat, arguments)
    return Traced(module, tuple(outputs))


@contextmanager
def without_onednn() -> Iterator[None]:
    """oneDNN has special operators, e.g. for LSTM; its public switch warns where there is no Intel GPU."""
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
            without_onednn(),
        ):
            module = make_fx(dispatch_functionalize(function), decomposition_table=dict(decompositions()))(*arguments)
    except REFUSALS as error:
        raise NoGradient(
            detail=explain(str(error).strip().split("\n", 1)[0]), **SourceLocation("", "").fields()
        ) from error
    _drop_pool_indices(module)
    share_computed_twice(module.graph)
    module.graph.eliminate_dead_code()
    for node in module.graph.find_nodes(op="call_function", target=LOOP):
        loop = Looped(node)
        node.meta[BODY] = _trace(loop.step, loop.examples())
    return module


def _drop_pool_indices(module: GraphModule) -> None:
    """Remove them where no node uses the indices."""
    for node in module.graph.nodes:
        if node.target is torch.ops.aten.max_pool2d_with_indices.default:
            if any(user.args[1] == 1 and user.users for user in node.users):
                continue
            for user in list(node.users):
                user.replace_all_uses_with(node)
            node.target = torch.ops.aten.max_pool2d.default
            node.meta["val"] = node.meta["val"][0]
