import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from coterie.compile.passes.joined_transpositions import joined_transpositions

aten = torch.ops.aten


def test_transpositions_of_transpositions_become_one_or_none() -> None:
    def turned(matrix: Tensor, block: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        back = matrix.t().t() * 2
        again = block.permute(1, 2, 0).permute(1, 2, 0).permute(1, 2, 0) * 3
        moved = block.transpose(0, -1).permute(1, 0, 2) * 4
        return back, again, moved

    given = torch.randn(2, 3), torch.randn(3, 4, 5)
    module = make_fx(turned, tracing_mode="fake")(*given)
    joined_transpositions(module)
    left = [node for node in module.graph.nodes if node.target in (aten.permute.default, aten.t.default)]
    assert [node.args[1] for node in left] == [[1, 2, 0]], "of the last one"
    torch.testing.assert_close(module(*given), turned(*given))
