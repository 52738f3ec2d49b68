"""Models that a federation solves rather than descends: PyTorch modules with tables of sums.

Compiled with optimiser ``second_order``, their train steps leave in ``gradients`` and ``curvatures`` the means of the
loss's derivatives, because what a table holds enters the output times nothing but with a slope of one. The
parameters' shapes are those that `coterie_learning.merge.boosted_trees` and `coterie_learning.merge.newton` name.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

UNSPLIT = 3e38
"""The threshold of a node without a split: every finite number lies to the left of it."""


class BoostedTrees(nn.Module):
    """At most `trees` trees of `levels` levels over the columns of `ranges`. [n, columns] to [n, outputs].

    Complete trees, so that the graph is the same for every version and the trees are its parameters.
    """

    _first_node: Tensor
    _first_leaf: Tensor
    _first_bin: Tensor

    def __init__(
        self, ranges: list[tuple[float, float]], *, outputs: int, trees: int = 30, levels: int = 4, bins: int = 32
    ) -> None:
        """`ranges` are where each column's numbers are about to lie, as all agree before anybody looks."""
        super().__init__()
        self._levels, self._outputs = levels, outputs
        self._nodes, self._leaves = 2**levels - 1, 2**levels
        self._cells = len(ranges) * bins
        spaced = [torch.linspace(low, high, bins + 1)[1:-1] for low, high in ranges]
        self.feature = nn.Parameter(torch.zeros(trees, self._nodes))
        self.threshold = nn.Parameter(torch.full((trees, self._nodes), UNSPLIT))
        self.value = nn.Parameter(torch.zeros(trees, self._leaves, outputs))
        self.base = nn.Parameter(torch.zeros(outputs))
        self.edges = nn.Parameter(torch.stack(spaced))
        self.place = nn.Parameter(torch.zeros(3))
        self.gradients = nn.Parameter(torch.zeros(self._leaves // 2 * self._cells, outputs))
        self.curvatures = nn.Parameter(torch.zeros(self._leaves // 2 * self._cells, outputs))
        self.register_buffer("_first_node", torch.arange(trees) * self._nodes)
        self.register_buffer("_first_leaf", torch.arange(trees) * self._leaves)
        self.register_buffer("_first_bin", torch.arange(len(ranges)) * bins)

    def forward(self, x: Tensor) -> Tensor:
        leaf = self._leaf(x)
        added = self.value.detach().reshape(-1, self._outputs)[leaf + self._first_leaf]
        output = self.base.detach() + added.sum(dim=1)
        return output + _nothing(self._cells_of(x, leaf), self.gradients, self.curvatures)

    def _leaf(self, x: Tensor) -> Tensor:
        """Of each tree the leaf that a sample falls into, [n, trees]."""
        feature, threshold = self.feature.detach().reshape(-1).to(torch.int64), self.threshold.detach().reshape(-1)
        node = torch.zeros(x.shape[0], len(self._first_node), dtype=torch.int64)
        for _ in range(self._levels):
            at = node + self._first_node
            node = 2 * node + 1 + (torch.gather(x, 1, feature[at]) > threshold[at]).to(torch.int64)
        leaf: Tensor = node - self._nodes
        return leaf

    def _cells_of(self, x: Tensor, leaf: Tensor) -> Tensor:
        """The rows of the tables that a sample counts in, [n, columns]: its node of the level that grows, its bins."""
        tree, level = self.place.detach()[1:2], self.place.detach()[2:3]
        last = len(self._first_node) - 1
        growing = torch.clamp(tree, max=last).to(torch.int64).reshape(1, 1).expand(x.shape[0], 1)
        node = torch.floor(torch.gather(leaf, 1, growing).to(torch.float32) * torch.exp2(level - self._levels))
        bins = (x.unsqueeze(2) > self.edges.detach()).to(torch.float32).sum(dim=2)
        return node.to(torch.int64) * self._cells + self._first_bin + bins.to(torch.int64)


class SolvedLinear(nn.Module):
    """Linear, logistic or softmax regression, by the loss that it is compiled with. [n, columns] to [n, outputs]."""

    def __init__(self, columns: int, outputs: int) -> None:
        super().__init__()
        self._columns, self._outputs = columns, outputs
        self.weight = nn.Parameter(torch.zeros(outputs, columns))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.gradients = nn.Parameter(torch.zeros(outputs, columns + 1))
        self.curvatures = nn.Parameter(torch.zeros(outputs * (columns + 1), columns + 1))

    def forward(self, x: Tensor) -> Tensor:
        with_one = functional.pad(x, (0, 1), value=1.0)
        squares = functional.linear(with_one, self.curvatures).reshape(-1, self._outputs, self._columns + 1)
        sums = functional.linear(with_one, self.gradients) + (squares * with_one.unsqueeze(1)).sum(dim=2)
        return functional.linear(x, self.weight.detach(), self.bias.detach()) + (sums - sums.detach())


def _nothing(rows: Tensor, *tables: Tensor) -> Tensor:
    """0, with the slope of one by each of the `rows` [n, m] of the tables, [n, outputs]."""
    found = torch.stack([functional.embedding(rows, table).sum(dim=1) for table in tables]).sum(dim=0)
    return found - found.detach()
