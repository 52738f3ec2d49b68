"""Graphs are those of Google's open implementation; rings are symmetric."""

import pytest

from coterie_learning.secure_sum.graph import SMALL, Adversary, Graph, graph_of, neighbours_of, sparse_graph


@pytest.mark.parametrize(
    ("members", "bad", "lost", "adversary", "graph"),
    [
        (100, 45, 45, "curious", (92, 46)),
        (10, 3, 3, "curious", (8, 4)),
        (100, 33, 33, "curious", (68, 34)),
        (1_000, 330, 330, "curious", (286, 150)),
        (10_000, 3_300, 3_300, "curious", (422, 221)),
        (100, 30, 30, "split_view", (92, 62)),
        (1_000, 300, 300, "split_view", (872, 584)),
    ],
)
def test_published_examples(members: int, bad: int, lost: int, adversary: Adversary, graph: tuple[int, int]) -> None:
    """Those of ``graph_parameter_finder`` in google-parfait/federated-compute."""
    assert sparse_graph(members, bad, lost, adversary) == graph


@pytest.mark.parametrize(
    ("corrupted", "dropped", "adversary", "graphs"),
    [
        (0.05, 0.10, "curious", [(10, 4), (16, 6), (24, 11), (32, 17), (36, 19)]),
        (0.10, 0.10, "curious", [(12, 6), (22, 11), (34, 19), (42, 24), (48, 27)]),
        (0.10, 0.30, "curious", [(22, 6), (34, 11), (54, 21), (76, 31), (88, 36)]),
        (0.20, 0.20, "curious", [(22, 11), (40, 21), (62, 34), (88, 48), (98, 54)]),
        (0.10, 0.10, "split_view", [(16, 11), (32, 22), (56, 39), (82, 57), (96, 67)]),
        (0.33, 0.10, "split_view", [(28, 23), (54, 44), (98, 78), (168, 132), (218, 171)]),
    ],
)
def test_neighbours_grow_as_the_logarithm_of_members(
    corrupted: float, dropped: float, adversary: Adversary, graphs: list[tuple[int, int]]
) -> None:
    found = [
        graph_of(members, corrupted=corrupted, dropped=dropped, adversary=adversary)
        for members in (50, 100, 200, 500, 1000)
    ]
    assert found == graphs


def test_of_few_everybody_is_everybodys_neighbour() -> None:
    below = graph_of(SMALL - 1, corrupted=0.1, dropped=0.1, adversary="curious")
    assert below == Graph(48, 2 * 49 // 3 + 1)
    above = graph_of(SMALL, corrupted=0.1, dropped=0.1, adversary="curious")
    assert above is not None and above.neighbours < SMALL - 1


@pytest.mark.parametrize("adversary", ["curious", "split_view"])
@pytest.mark.parametrize(("corrupted", "dropped"), [(0.1, 0.1), (0.1, 0.3), (0.3, 0.3)])
def test_few_bear_what_they_promise(adversary: Adversary, corrupted: float, dropped: float) -> None:
    for members in range(3, SMALL):
        found = graph_of(members, corrupted=corrupted, dropped=dropped, adversary=adversary)
        if found is not None:
            check(found, members, adversary, corrupted, dropped)


def check(found: Graph, members: int, adversary: Adversary, corrupted: float, dropped: float) -> None:
    bad, lost = -int(-corrupted * members // 1), -int(-dropped * members // 1)
    assert found.threshold <= members - 1 - lost, "who is left recovers"
    if adversary == "curious":
        assert found.threshold > bad, "who conspires does not"
    else:  # the honest others tell one share or the other, those who conspire both
        honest = members - 1 - bad
        assert 2 * (found.threshold - bad) > honest


def test_what_nothing_bears_has_no_graph() -> None:
    assert graph_of(100, corrupted=0.45, dropped=0.45, adversary="split_view") is None
    assert graph_of(10, corrupted=0.45, dropped=0.45, adversary="curious") is None


@pytest.mark.parametrize(("members", "neighbours"), [(3, 2), (10, 9), (50, 12), (101, 22)])
def test_neighbourhood_is_mutual_and_a_ring(members: int, neighbours: int) -> None:
    of = [neighbours_of(member, members, neighbours, seed=7) for member in range(members)]
    for member, others in enumerate(of):
        assert len(set(others)) == neighbours and member not in others and list(others) == sorted(others)
        assert all(member in of[other] for other in others)
    reached, border = {0}, {0}
    while border:
        border = {other for member in border for other in of[member]} - reached
        reached |= border
    assert reached == set(range(members))


def test_the_order_of_the_ring_is_drawn() -> None:
    one, other = (neighbours_of(0, 100, 22, seed) for seed in (1, 2))
    assert one != other
    assert len(set(one) & set(other)) < 15
