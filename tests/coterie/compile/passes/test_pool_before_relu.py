import torch
from torch import Tensor, nn
from torch.fx import GraphModule

from coterie.compile.passes.pool_before_relu import pool_before_relu


def exported(module: nn.Module, x: Tensor) -> GraphModule:
    return torch.export.export(module.train(), (x,)).graph_module


def kinds(program: GraphModule) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


def test_pool_comes_first_with_equal_values() -> None:
    x = torch.randn(2, 3, 8, 8)
    for rectifier in (nn.ReLU(), nn.ReLU(inplace=True)):
        program = exported(nn.Sequential(nn.Conv2d(3, 4, 3), rectifier, nn.MaxPool2d(2)), x)
        swapped = pool_before_relu(program)
        assert kinds(swapped) == ["aten.conv2d.default", "aten.max_pool2d.default", "aten.relu.default"]
        arguments = [torch.randn(4, 3, 3, 3), torch.randn(4), x]
        torch.testing.assert_close(swapped(*arguments), program(*arguments), rtol=0, atol=0)
        assert "relu" in kinds(program)[1]


class Shared(nn.Module):
    """What is rectified in place is used besides, and so is what was rectified."""

    def __init__(self, *, inplace: bool) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, x: Tensor) -> Tensor:
        source = x * 2
        rectified = nn.functional.relu(source, inplace=self.inplace)
        pooled = nn.functional.max_pool2d(rectified, 2)
        return pooled.sum() + (source if self.inplace else rectified).sum()


def test_what_others_see_stays() -> None:
    for inplace in (True, False):
        program = exported(Shared(inplace=inplace), torch.randn(1, 1, 4, 4))
        assert kinds(pool_before_relu(program)) == kinds(program)
