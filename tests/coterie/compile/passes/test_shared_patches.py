import pytest
import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from coterie.compile.geometry import Geometry
from coterie.compile.passes.shared_patches import shared_patches
from coterie.compile.patches import patches

GEOMETRY = Geometry([2, 1], [1, 0], [1, 2])


def convolution_and_patches(geometry: Geometry, groups: int) -> object:
    def compute(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        made = torch.nn.functional.conv2d(x, weight, bias, *geometry, groups)
        return made, patches(x, weight.shape[2:], GEOMETRY)

    return compute


def convolutions(module: GraphModule) -> int:
    return len(module.graph.find_nodes(op="call_function", target=torch.ops.aten.convolution.default))


@pytest.mark.parametrize("groups", [1, 2])
def test_convolution_is_made_of_the_patches_that_are_cut_anyway(groups: int) -> None:
    compute = convolution_and_patches(GEOMETRY, groups)
    given = torch.randn(2, 4, 7, 9), torch.randn(6, 4 // groups, 3, 2), torch.randn(6)
    module = make_fx(compute, tracing_mode="fake")(*given)
    assert convolutions(module) == 1
    shared_patches(module)
    assert convolutions(module) == 0
    module.recompile()
    torch.testing.assert_close(module(*given), compute(*given))


def test_convolution_that_moves_otherwise_stays() -> None:
    compute = convolution_and_patches(GEOMETRY._replace(padding=[0, 0]), 1)
    module = make_fx(compute, tracing_mode="fake")(torch.randn(2, 4, 7, 9), torch.randn(6, 4, 3, 2), torch.randn(6))
    shared_patches(module)
    assert convolutions(module) == 1
