"""Where models can be cut, and that their blocks compute what the whole does."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from coterie.cloud.blocks import blocks_at, even_cuts, find_cuts
from coterie.cloud.program import CloudProgram
from coterie.cloud.strategy import Splits
from coterie.cloud.strategy.pipeline import Pipeline
from coterie.compile.program import export_module


class Attention(nn.Module):
    """A block of a transformer, which reads sizes off its input."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.project, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        q, k, v = self.project(self.norm(x)).view(n, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, length, width)
        return x + self.out(mixed)


class Residual(nn.Module):
    """Skips, running statistics, and an activation in place."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 3)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True)) for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


class Twice(nn.Module):
    """The same layer at both ends."""

    def __init__(self) -> None:
        super().__init__()
        self.outer, self.inner = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(torch.relu(self.inner(self.outer(x))))


def program_of(module: nn.Module, example: Tensor) -> CloudProgram:
    return CloudProgram(export_module(module, (example,)))


@pytest.mark.parametrize(
    ("module", "example", "places"),
    [
        (Residual(), torch.randn(3, 4), ("blocks.0", "blocks.1", "last")),
        (
            nn.Sequential(nn.Embedding(11, 8), Attention(), Attention(), nn.Flatten(), nn.Linear(40, 3)),
            torch.randint(11, (3, 5)),
            ("1", "2", "4"),
        ),
        (Twice(), torch.randn(3, 4), ()),
    ],
    ids=["residual", "transformer", "tied"],
)
def test_blocks_compute_what_the_whole_does(module: nn.Module, example: Tensor, places: tuple[str, ...]) -> None:
    cloud = program_of(module, example)
    cuts = find_cuts(cloud)
    assert cuts.splits().modules == places
    blocks = blocks_at(cloud, cuts.places)
    before = {name: tensor.clone() for name, tensor in cloud.state.items()}
    expected = cloud.train_logits([example])
    statistics = {name: tensor.clone() for name, tensor in cloud.state.items()}
    for name, tensor in before.items():
        cloud.state[name].data.copy_(tensor)
    found = example
    for block in blocks:
        found = block(found)
    assert torch.equal(found, expected)
    assert all(torch.equal(cloud.state[name], tensor) for name, tensor in statistics.items())
    assert sorted(name for block in blocks for name in block.parameters_by_name()) == sorted(cloud.parameters)


def test_a_parameter_on_both_sides_is_told() -> None:
    splits = find_cuts(program_of(Twice(), torch.randn(3, 4))).splits()
    problem = Pipeline(workers=2).misfit_of(splits)
    assert problem is not None
    assert problem.startswith("it has no 2 stages; it cannot be split; not before 'inner': 'outer.")


def test_stages_are_of_even_size() -> None:
    cloud = program_of(nn.Sequential(*(nn.Linear(4, 4) for _ in range(9))), torch.randn(2, 4))
    cuts = find_cuts(cloud).places
    assert [cut.name for cut in even_cuts(cuts, 3, 9 * 20)] == ["3", "6"]
    assert even_cuts(cuts, 1, 9 * 20) == []


def test_stated_stages_must_be_there_and_in_order() -> None:
    splits = Splits(("a", "", "b", "c"))
    assert Pipeline(workers=3, microbatches=3, split_before=("a", "c")).misfit_of(splits) is None
    for wrong, told in ((("c", "a"), "another order"), (("a", "x"), "before 'x'"), (("a", ""), "before ''")):
        problem = Pipeline(workers=3, microbatches=3, split_before=wrong).misfit_of(splits)
        assert problem is not None
        assert told in problem


@pytest.mark.parametrize("wrong", [{"microbatches": 3}, {"split_before": ("a", "b")}])
def test_settings_that_contradict_each_other_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"multiple|split before"):
        Pipeline(workers=2, **wrong)  # type: ignore[arg-type]
