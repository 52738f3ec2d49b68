import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from coterie.compile.passes.computed_twice import share_computed_twice


def test_the_same_of_the_same_is_computed_once_and_what_is_drawn_each_time() -> None:
    def advance(x: Tensor) -> Tensor:
        whole, part, drawn = x.exp() * 1, x.exp() * 1.0, torch.bernoulli(x) + torch.bernoulli(x)
        return (whole + part + drawn).sum()

    given = torch.rand(3)
    module = make_fx(advance, tracing_mode="fake")(given)
    share_computed_twice(module.graph)
    module.graph.eliminate_dead_code()
    module.recompile()
    names = [str(node.target).split(".")[1] for node in module.graph.nodes if node.op == "call_function"]
    assert (names.count("exp"), names.count("mul"), names.count("bernoulli")) == (1, 2, 2), "1 and 1.0 are two things"
    torch.manual_seed(0)
    wanted = advance(given)
    torch.manual_seed(0)
    torch.testing.assert_close(module(given), wanted)


def test_results_stay_apart() -> None:
    module = make_fx(lambda x: (x.exp(), x.exp()), tracing_mode="fake")(torch.rand(3))
    share_computed_twice(module.graph)
    assert len(set(module.graph.output_node().args[0])) == 2
