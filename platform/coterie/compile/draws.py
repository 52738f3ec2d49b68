"""In evaluation mode, what training draws at random is replaced by its mean.

Stochastic depth (Huang et al. 2016, arXiv 1603.09382) multiplies a branch by a draw of ones and zeros, which models
write as `bernoulli_`, as `torch.rand(shape) < share` or as the integer part of `share + torch.rand(shape)`. Variational
autoencoders (Kingma and Welling 2013, arXiv 1312.6114, section 2.4) add a deviation times a Gaussian draw, of mean 0.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx.node import Node

from coterie.compile.advice import ADVICE
from coterie.compile.errors import UnsupportedOperator
from coterie.compile.node_places import place_of

aten = torch.ops.aten

MEANS: Mapping[str, OpOverload] = {
    "aten.bernoulli.default": aten.clone.default,
    "aten.bernoulli.p": aten.full_like.default,
    "aten.bernoulli_.float": aten.fill_.Scalar,
    "aten.bernoulli_.Tensor": aten.copy_.default,
    "aten.randn.default": aten.zeros.default,
    "aten.randn_like.default": aten.zeros_like.default,
}
"""For each operator that draws, the operator that gives the mean from the same arguments."""
EVEN = ("aten.rand.default", "aten.rand_like.default")
"""Uniform draws in [0, 1), of which models make ones and zeros."""
GAUSSIAN = ("aten.randn.default", "aten.randn_like.default")
DRAWS = (*MEANS, *EVEN)
HALF = 0.5
"""The default probability of `bernoulli_`."""


def _both(*names: str) -> Collection[str]:
    """The names and those of their in-place variants."""
    return {form for name in names for form in (f"aten.{name}", f"aten.{name.replace('.', '_.', 1)}")}


PRODUCTS = _both("mul.Tensor", "div.Tensor")
SUMS = _both("add.Tensor", "sub.Tensor")
FORMS = {f"aten.{name}" for name in ("view.default", "reshape.default", "unsqueeze.default", "expand.default")} | {
    f"aten.{name}" for name in ("to.dtype", "_to_copy.default", "clone.default")
}
"""Linear operations on a draw: applied to its mean, they give the mean of the result."""
CHECK = "aten._assert_tensor_metadata.default"
"""PyTorch's check that a tensor has the dtype that it had at export."""
WHOLE = _both("floor.default")
BELOW, ABOVE = _both("lt.Scalar", "le.Scalar"), _both("gt.Scalar", "ge.Scalar")


def take_mean(draw: Node) -> None:
    """Replace a draw, one of DRAWS, by its mean. Raises UnsupportedOperator where that does not give the result's
    mean.
    """
    if str(draw.target) in EVEN:
        kept = _mask_of(draw)
        for check in [] if kept is None else [user for user in kept.node.users if str(user.target) == CHECK]:
            draw.graph.erase_node(check)
        if kept is not None and _scales(kept.node, PRODUCTS):
            with draw.graph.inserting_before(kept.node):
                mean = draw.graph.call_function(aten.full_like.default, (draw, kept.share))
            mean.meta = draw.meta
            kept.node.replace_all_uses_with(mean)
            draw.target = aten.zeros_like.default if str(draw.target) == EVEN[1] else aten.zeros.default
            return
    # The mean of a sum with a zero-mean Gaussian draw is the other summand.
    elif _scales(draw, {*PRODUCTS, *SUMS} if str(draw.target) in GAUSSIAN else PRODUCTS):
        share = draw.args[1:2] or ((HALF,) if str(draw.target) == "aten.bernoulli_.float" else ())
        if str(draw.target) in GAUSSIAN:
            draw.target = MEANS[str(draw.target)]
        else:
            draw.target, draw.args, draw.kwargs = MEANS[str(draw.target)], (draw.args[0], *share), {}
        return
    raise UnsupportedOperator(operator=str(draw.target), reason=ADVICE["rand"], **place_of(draw).fields())


class _Mask(NamedTuple):
    """Ones and zeros made of a uniform draw."""

    node: Node
    share: float
    """The probability of a one."""


def _mask_of(draw: Node) -> _Mask | None:
    """The mask that is made of `draw` only."""
    users = [user for user in draw.users if str(user.target) != CHECK]
    if len(users) != 1:
        return None
    (user,) = users
    number = user.args[1] if len(user.args) > 1 and isinstance(user.args[1], (int, float)) else None
    if number is None or user.args[0] is not draw or not 0 <= number <= 1:
        return None
    if str(user.target) in BELOW:
        return _Mask(user, number)
    if str(user.target) in ABOVE:
        return _Mask(user, 1 - number)
    if str(user.target) in SUMS and "add" in str(user.target) and not user.kwargs and len(user.users) == 1:
        (whole,) = user.users
        return _Mask(whole, number) if str(whole.target) in WHOLE else None
    return None


def _scales(draw: Node, joins: Collection[str]) -> bool:
    """Whether the only use of the draw is that one of `joins` combines it with something."""
    for user in draw.users:
        if str(user.target) not in (*joins, *PRODUCTS, *FORMS):
            return False
        joined = str(user.target) in joins and len(user.all_input_nodes) > 1
        if not joined and not _scales(user, joins):
            return False
    return True


def gaussian_like(x: Tensor, **options: object) -> Tensor:  # noqa: ARG001 - where and how it is stored
    """``randn_like``, from two uniform draws (Box and Muller 1958)."""
    return _gaussian(torch.rand_like(x), torch.rand_like(x))


def gaussian(size: list[int], **options: object) -> Tensor:  # noqa: ARG001
    """``randn``."""
    return _gaussian(torch.rand(size), torch.rand(size))


def _gaussian(first: Tensor, second: Tensor) -> Tensor:
    return torch.sqrt(-2 * torch.log(1 - first)) * torch.cos(2 * torch.pi * second)
