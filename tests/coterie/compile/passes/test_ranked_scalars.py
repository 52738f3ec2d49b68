import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from coterie.compile.passes.ranked_scalars import ranked_scalars


def test_scalars_take_the_rank_of_what_ends_in_an_axis_of_one() -> None:
    def advance(kernel: Tensor, matrix: Tensor, rate: Tensor, decay: Tensor) -> Tensor:
        return (kernel * rate - decay * kernel + kernel / rate).sum() + (matrix * rate).sum()

    given = torch.randn(3, 2, 1, 1), torch.randn(3, 2), torch.tensor(2.0), torch.tensor(0.5)
    module = make_fx(advance, tracing_mode="fake")(*given)
    ranked_scalars(module)
    views = [node for node in module.graph.nodes if node.target is torch.ops.aten.view.default]
    assert [view.args[1] for view in views] == [[1] * 4] * 2, "one for each scalar, none for the matrix"
    torch.testing.assert_close(module(*given), advance(*given))
