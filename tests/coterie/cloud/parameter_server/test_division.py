from hypothesis import given
from hypothesis import strategies as st

from coterie.cloud.parameter_server.division import divide
from coterie.cloud.priority.order import Piece


def test_servers_have_pieces_of_even_size() -> None:
    division = divide([(2, 2), (9,), (4,)], most=4, servers=2)
    assert division.pieces == (Piece(0, 0, 4), Piece(1, 0, 4), Piece(1, 4, 8), Piece(1, 8, 9), Piece(2, 0, 4))
    assert division.server_of == (0, 1, 0, 1, 1)
    assert division.parts_of(0) == {0: 2, 1: 2}, "whole parameters"
    assert division.parts_of(3) == {0: 1}, "a part of one"
    assert division.statistics == 5


def test_where_pieces_are_few_the_last_servers_have_none() -> None:
    assert divide([(3,)], most=4, servers=3).servers == 1
    assert divide([], most=4, servers=3).servers == 1


@given(st.lists(st.integers(1, 60), min_size=1), st.integers(1, 20), st.integers(1, 6))
def test_every_number_has_one_server_and_none_has_a_piece_more(sizes: list[int], most: int, servers: int) -> None:
    division = divide([(size,) for size in sizes], most=most, servers=servers)
    of = [division.pieces_of(server) for server in range(division.servers)]
    assert sorted(number for numbers in of for number in numbers) == list(range(len(division.pieces)))
    assert sum(piece.size for piece in division.pieces) == sum(sizes)
    loads = [sum(division.pieces[number].size for number in numbers) for numbers in of]
    assert division.servers < servers or max(loads) - min(loads) <= most
