from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from coterie.compile.gradients import convolution, shifts
from coterie.compile.gradients.convolution import convolution_backward
from coterie.compile.gradients.shifts import Limits

aten = torch.ops.aten


class Case(NamedTuple):
    size: tuple[int, ...]
    channels: int = 4
    filters: int = 6
    kernel: int = 3
    stride: int = 1
    padding: int = 1
    dilation: int = 1
    groups: int = 1
    transposed: bool = False
    output_padding: int = 0


CASES = [
    Case((7, 8)),
    Case((7, 8), kernel=1, padding=0),
    Case((8, 7), kernel=1, padding=0, stride=2),
    Case((8, 9), stride=2),
    Case((9, 9), kernel=5, stride=3, padding=0),
    Case((9, 9), kernel=2, padding=2, dilation=3),
    Case((7, 8), groups=2),
    Case((7, 8), groups=4, filters=8),
    Case((7, 8), groups=4, filters=4),
    Case((9, 7), groups=4, filters=4, stride=2),
    Case((9, 7), groups=4, filters=4, kernel=5, dilation=2, padding=3, stride=2),
    Case((3, 70), groups=4, filters=4),
    Case((11,), stride=2),
    Case((11,), channels=8, padding=2, dilation=3),
    Case((7, 12), channels=8),
    Case((12, 24), channels=8, kernel=2, dilation=3, padding=0),
    Case((3, 4, 24), channels=8, padding=1),
    Case((4, 12), channels=4, filters=8, transposed=True),
    Case((4, 5, 3)),
    Case((4, 5), transposed=True),
    Case((4, 5), transposed=True, stride=2, output_padding=1),
    Case((4, 5), transposed=True, kernel=2, dilation=3, output_padding=2, padding=0),
    Case((4, 5), transposed=True, groups=4, filters=4, stride=2, output_padding=1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_equal_pytorch(case: Case) -> None:
    compare(case)


@pytest.mark.parametrize("fewest_channels", [1, 100], ids=["shifts", "patches"])
@pytest.mark.parametrize("case", [case for case in CASES if case.stride == 1], ids=str)
def test_gradients_do_not_depend_on_what_is_quicker(
    case: Case, fewest_channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(fewest_channels=fewest_channels, most_waste=100)
    monkeypatch.setattr(convolution, "MAX_SHARED_FLOATS", 0)
    monkeypatch.setattr(shifts, "LIMITS", limits)
    monkeypatch.setattr(shifts, "LIMITS_OF_MANY", limits)
    compare(case)
    monkeypatch.setattr(convolution, "MAX_PATCH_FLOATS", 500)  # a part of the batch at a time
    compare(case)


def compare(case: Case) -> None:
    torch.manual_seed(0)
    rank = len(case.size)
    x = torch.randn(5, case.channels, *case.size)
    pair = (case.filters, case.channels) if not case.transposed else (case.channels, case.filters)
    weight = torch.randn(pair[0], pair[1] // case.groups, *[case.kernel] * rank)
    moves = [[amount] * rank for amount in (case.stride, case.padding, case.dilation)]
    spare = [case.output_padding] * rank
    result: Tensor = aten.convolution(x, weight, None, *moves, case.transposed, spare, case.groups)
    gradient = torch.randn_like(result)
    given = (gradient, x, weight, [case.filters], *moves, case.transposed, spare, case.groups, [True] * 3)
    for ours, theirs in zip(convolution_backward(*given), aten.convolution_backward(*given), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
