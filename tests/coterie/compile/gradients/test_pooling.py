from typing import NamedTuple

import pytest
import torch

from coterie.compile.gradients.pooling import avg_pool2d_backward, max_pool2d_backward

aten = torch.ops.aten


class Case(NamedTuple):
    kernel: list[int]
    stride: list[int]
    padding: list[int]
    dilation: list[int] = [1, 1]
    ceil_mode: bool = False


CASES = [
    Case([3, 3], [2, 2], [1, 1]),
    Case([3, 2], [2, 1], [1, 0]),
    Case([3], [], [0], ceil_mode=True),
    Case([2, 2], [1, 1], [0, 0]),
    Case([2, 3], [3, 2], [1, 1], ceil_mode=True),
    Case([1, 3], [1, 2], [0, 1]),
]
DILATED = [Case([2, 2], [1, 1], [0, 0], [2, 2]), Case([3, 3], [2, 2], [1, 1], [2, 1], ceil_mode=True)]


@pytest.mark.parametrize("case", CASES + DILATED, ids=str)
def test_gradient_of_the_greatest_goes_to_the_first_of_equals(case: Case) -> None:
    torch.manual_seed(0)
    # Few distinct values, some windows all below zero: padding must not win.
    x = torch.randint(-3, 1, (2, 3, 9, 8)).float()
    values, indices = aten.max_pool2d_with_indices(x, *case)
    gradient = torch.randn_like(values)
    ours = max_pool2d_backward(gradient, x, *case, indices)
    assert isinstance(ours, torch.Tensor)
    torch.testing.assert_close(ours, aten.max_pool2d_with_indices_backward(gradient, x, *case, indices))


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("divisor", [None, 5])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradient_of_the_average_is_shared(case: Case, counted: bool, divisor: int | None) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 9, 8)
    options = (case.kernel, case.stride, case.padding, case.ceil_mode, counted, divisor)
    gradient = torch.randn_like(aten.avg_pool2d(x, *options))
    theirs = aten.avg_pool2d_backward(gradient, x, *options)
    torch.testing.assert_close(avg_pool2d_backward(gradient, x, *options), theirs)
