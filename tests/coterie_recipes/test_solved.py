"""Models that are solved: what their tables do, and their trees as others write them."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper

from coterie_recipes.solved import UNSPLIT, BoostedTrees, SolvedLinear

COLUMNS, OUTPUTS, TREES, LEVELS, BINS = 4, 3, 5, 3, 8


def grown(seed: int) -> BoostedTrees:
    """Trees whose nodes are split at random, a third of them not at all."""
    generator = torch.Generator().manual_seed(seed)
    model = BoostedTrees([(-2.0, 2.0)] * COLUMNS, outputs=OUTPUTS, trees=TREES, levels=LEVELS, bins=BINS)
    shape = model.feature.shape
    whole = torch.rand(shape, generator=generator) < 1 / 3
    with torch.no_grad():
        model.feature.copy_(torch.randint(0, COLUMNS, shape, generator=generator))
        model.threshold.copy_(torch.where(whole, UNSPLIT, torch.randn(shape, generator=generator)))
        model.value.copy_(torch.randn(model.value.shape, generator=generator))
        model.base.copy_(torch.randn(OUTPUTS, generator=generator))
    return model


def as_tree_ensemble(model: BoostedTrees) -> bytes:
    """The same trees as attributes of ``TreeEnsembleRegressor``."""
    nodes: dict[str, list[int] | list[float] | list[str]] = {
        name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    }
    targets: dict[str, list[int] | list[float]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    inner, own = 2**LEVELS - 1, model.state_dict()
    for tree in range(TREES):
        for node in range(inner + 2**LEVELS):
            leaf = node >= inner
            row: Mapping[str, int | float | str] = {
                "treeids": tree,
                "nodeids": node,
                "featureids": 0 if leaf else int(own["feature"][tree, node]),
                "values": 0.0 if leaf else float(own["threshold"][tree, node]),
                "modes": "LEAF" if leaf else "BRANCH_LEQ",
                "truenodeids": 0 if leaf else 2 * node + 1,
                "falsenodeids": 0 if leaf else 2 * node + 2,
            }
            for name, number in row.items():
                nodes[name].append(number)  # type: ignore[arg-type]
            for output in range(OUTPUTS if leaf else 0):
                of_leaf = (tree, node, output, float(own["value"][tree, node - inner, output]))
                for name, number in zip(targets, of_leaf, strict=True):
                    targets[name].append(number)  # type: ignore[arg-type]
    ensemble = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=OUTPUTS,
        base_values=own["base"].tolist(),
        **{f"nodes_{name}": value for name, value in nodes.items()},
        **{f"target_{name}": value for name, value in targets.items()},
    )
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", None]) for name in ("x", "y")]
    graph = helper.make_graph([ensemble], "trees", ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    found: onnx.ModelProto = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return found.SerializeToString()


def test_trees_are_those_of_a_tree_ensemble() -> None:
    model, x = grown(0), torch.randn(200, COLUMNS, generator=torch.Generator().manual_seed(1))
    session = onnxruntime.InferenceSession(as_tree_ensemble(model), providers=["CPUExecutionProvider"])
    (found,) = session.run(["y"], {"x": x.numpy()})
    np.testing.assert_allclose(model(x).detach().numpy(), found, rtol=1e-5, atol=1e-5)
    assert len(np.unique(found, axis=0)) > 20


def slopes(model: torch.nn.Module, x: torch.Tensor) -> Sequence[torch.Tensor]:
    """The gradients of the sum of all outputs by the tables."""
    return torch.autograd.grad(model(x).sum(), [model.gradients, model.curvatures])


def test_a_cell_counts_the_samples_of_its_node_and_bin_whatever_it_holds() -> None:
    model, x = grown(2), torch.randn(50, COLUMNS, generator=torch.Generator().manual_seed(3))
    without = model(x)
    with torch.no_grad():
        model.place.copy_(torch.tensor([0.0, 1.0, 2.0]))
        model.gradients.normal_()
    assert torch.equal(model(x), without), "a table changes no output"
    for found in slopes(model, x):
        counts = found.reshape(2 ** (LEVELS - 1), COLUMNS, BINS, OUTPUTS)[..., 0]
        assert (counts.sum(dim=2) == counts.sum(dim=2)[:, :1]).all(), "each column has all samples of a node"
        for column in range(COLUMNS):
            bins = torch.bucketize(x[:, column].contiguous(), model.edges[column], right=False)
            assert counts[:, column].sum(dim=0).tolist() == torch.bincount(bins, minlength=BINS).tolist()
        nodes = model._leaf(x)[:, 1] >> 1
        assert counts[:, 0].sum(dim=1).tolist() == torch.bincount(nodes, minlength=4).tolist()


def test_the_line_counts_products_of_columns() -> None:
    model, x = SolvedLinear(COLUMNS, OUTPUTS), torch.randn(50, COLUMNS, generator=torch.Generator().manual_seed(4))
    gradients, curvatures = slopes(model, x)
    ones = torch.cat([x, torch.ones(50, 1)], dim=1)
    for output in range(OUTPUTS):
        torch.testing.assert_close(gradients[output], ones.sum(dim=0))
        rows = slice(output * (COLUMNS + 1), (output + 1) * (COLUMNS + 1))
        torch.testing.assert_close(curvatures[rows], ones.T @ ones)
