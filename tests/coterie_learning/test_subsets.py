"""Random subsets: as large as was said, the same for the same draw, every parameter as likely as any other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.subsets import chosen, chosen_specs, count_of, draw_of, pick_chosen, place_chosen
from coterie_wire.bundle import TensorSpec

SHARES = st.floats(min_value=0.001, max_value=1)


def spec(*shape: int, name: str = "weight") -> TensorSpec:
    return TensorSpec(name, "float32", shape)


@given(st.integers(1, 300), st.integers(1, 40), SHARES, st.integers(0, 2**53))
def test_positions_are_ascending_in_the_tensor_and_as_many_as_was_said(
    rows: int, columns: int, share: float, draw: int
) -> None:
    specs = [spec(rows, columns)]
    positions = chosen(specs, share, draw)["weight"]
    (flat,) = chosen_specs(specs, share)
    assert positions.shape == flat.shape == (count_of(share, rows * columns),)
    assert positions[0] >= 0 and positions[-1] < rows * columns and (np.diff(positions) > 0).all()


def test_these_are_the_positions() -> None:
    """Whoever draws them in another language compares with these."""
    found = chosen([spec(20), spec(3, name="bias")], 0.25, draw_of(7))
    assert {name: positions.tolist() for name, positions in found.items()} == {"weight": [4, 5, 9, 14, 19], "bias": [1]}


@pytest.mark.parametrize(("parameters", "share"), [(10, 0.3), (7, 0.5), (12, 0.75), (40, 0.05)])
def test_every_parameter_is_chosen_as_often_as_any_other(parameters: int, share: float) -> None:
    draws, count = 4000, count_of(share, parameters)
    times = np.zeros(parameters)
    for draw in range(draws):
        times[chosen([spec(parameters)], share, draw)["weight"]] += 1
    expected = draws * count / parameters
    assert np.abs(times - expected).max() < 5 * np.sqrt(expected * (1 - count / parameters))


def test_tensors_of_the_same_size_have_subsets_of_their_own() -> None:
    found = chosen([spec(1000), spec(1000, name="other")], 0.1, 5)
    assert not np.array_equal(found["weight"], found["other"])


def test_what_was_picked_comes_back_to_its_place() -> None:
    whole = {"weight": np.arange(12, dtype=np.float32).reshape(3, 4)}
    rest = {"weight": np.full((3, 4), -1, np.float32)}
    positions = chosen([spec(3, 4)], 0.5, 9)
    placed = place_chosen(pick_chosen(whole, positions), positions, rest)["weight"]
    is_chosen = np.isin(np.arange(12), positions["weight"]).reshape(3, 4)
    np.testing.assert_array_equal(placed, np.where(is_chosen, whole["weight"], -1))
    np.testing.assert_array_equal(rest["weight"], -1, "what it is placed into stays as it is")


def test_an_empty_tensor_has_nothing_to_choose() -> None:
    assert count_of(0.5, 0) == 0
    assert chosen([spec(0, 4)], 0.5, 1)["weight"].size == 0
