import sys

import pytest
import torch

from coterie.compile.gradients import slices

aten = torch.ops.aten
SIZES = [2, 6, 3]


@pytest.mark.parametrize(("dim", "index"), [(0, 1), (1, 0), (1, -1), (-1, 2)])
def test_gradient_of_an_element_equals_pytorch(dim: int, index: int) -> None:
    given = (torch.randn_like(torch.zeros(SIZES).select(dim, index)), SIZES, dim, index)
    torch.testing.assert_close(slices.select_backward(*given), aten.select_backward(*given))


@pytest.mark.parametrize(
    ("start", "end", "step"), [(0, sys.maxsize, 1), (1, 4, 1), (-2, sys.maxsize, 1), (1, 6, 2), (0, -1, 1)]
)
def test_gradient_of_a_slice_equals_pytorch(start: int, end: int, step: int) -> None:
    given = (torch.randn_like(torch.zeros(SIZES)[:, start:end:step]), SIZES, 1, start, end, step)
    torch.testing.assert_close(slices.slice_backward(*given), aten.slice_backward(*given))
