from onnx import TensorProto, helper

from coterie.compile.graph_facts import measure_gflops, operators_of


def test_operators_are_counted_in_the_bodies_of_loops_as_well() -> None:
    def value(name: str) -> object:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])

    def flow(name: str, kind: str, *inputs: str) -> object:
        return helper.make_node(kind, list(inputs), [name])

    body = helper.make_graph([flow("s", "Add", "a", "b"), flow("t", "Neg", "s")], "body", [value("a"), value("b")], [])
    loop = helper.make_node("Scan", ["x", "y"], ["z"], body=body, num_scan_inputs=1)
    graph = helper.make_graph([flow("y", "Neg", "x"), loop, flow("w", "Neg", "z")], "g", [value("x")], [value("w")])
    found = operators_of(helper.make_model(graph).SerializeToString())
    assert list(found.items()) == [("Neg", 3), ("Scan", 1), ("Add", 1)]


def test_this_machine_multiplies_matrices() -> None:
    assert 0.01 < measure_gflops() < 10_000
