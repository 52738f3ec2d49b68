"""A copy of a program to rewrite."""

from torch.fx import Graph, GraphModule


def copy_graph(program: GraphModule) -> GraphModule:
    """Shares tensors with `program`, but no node."""
    graph = Graph()
    graph.output(graph.graph_copy(program.graph, {}))
    return GraphModule(program, graph)
