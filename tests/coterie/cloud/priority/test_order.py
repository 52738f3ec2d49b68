"""Pieces and their order."""

from hypothesis import given
from hypothesis import strategies as st

from coterie.cloud.priority.order import Piece, cut, static_order

SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=8)


@given(SIZES, st.integers(1, 15))
def test_pieces_are_the_layers_and_none_is_too_large(sizes: list[int], most: int) -> None:
    pieces = cut(sizes, most)
    for layer, size in enumerate(sizes):
        assert [n for piece in pieces if piece.layer == layer for n in range(piece.start, piece.stop)] == list(
            range(size)
        )
    assert all(0 < piece.size <= most for piece in pieces)


@given(SIZES, st.integers(1, 15), st.data())
def test_the_order_has_every_piece_once(sizes: list[int], most: int, data: st.DataObject) -> None:
    ready = data.draw(st.lists(st.floats(0, 10), min_size=len(sizes), max_size=len(sizes)))
    pieces = cut(sizes, most)
    assert sorted(static_order(pieces, ready, data.draw(st.floats(0, 1)))) == pieces


def test_what_is_needed_first_goes_before_what_waits_longer() -> None:
    # The last layer is ready first; when the first layer is, two of the last one's four pieces have left.
    pieces = cut([2, 8], 2)
    order = static_order(pieces, [4.0, 0.0], 1.0)
    assert order == [Piece(1, 0, 2), Piece(1, 2, 4), Piece(0, 0, 2), Piece(1, 4, 6), Piece(1, 6, 8)]


def test_whole_layers_cannot_be_passed() -> None:
    assert static_order(cut([2, 8], 8), [4.0, 0.0], 1.0) == [Piece(1, 0, 8), Piece(0, 0, 2)]


def test_a_quick_link_sends_as_layers_are_ready() -> None:
    ready = [3.0, 2.0, 1.0]
    assert [piece.layer for piece in static_order(cut([1, 1, 1], 1), ready, 1e-6)] == [2, 1, 0]
