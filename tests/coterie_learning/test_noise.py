"""Noise from a key: its moments, its independence of spans, and that another key gives another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.noise import DRAWN, release_key, whole_noise

KEY = bytes(range(32))
MANY = 1_000_000


def test_a_million_draws_have_the_moments_of_the_normal_distribution() -> None:
    drawn = whole_noise(2.0**40, KEY, "delta.weight", 0, MANY) / 2.0**40
    assert abs(drawn.mean()) < 4 / MANY**0.5
    assert abs(drawn.var() - 1) < 4 * (2 / MANY) ** 0.5
    assert abs((drawn**4).mean() - 3) < 4 * (96 / MANY) ** 0.5
    assert abs((drawn > 2).mean() - 0.02275) < 4 * (0.0222 / MANY) ** 0.5
    for lag in (1, DRAWN // 2, DRAWN):  # the halves of a pair, and blocks
        assert abs((drawn[lag:] * drawn[:-lag]).mean()) < 4 / (MANY - lag) ** 0.5


@given(start=st.integers(0, 3 * DRAWN), count=st.integers(0, 2 * DRAWN))
def test_an_element_gets_the_same_in_whatever_span(start: int, count: int) -> None:
    whole = whole_noise(1e6, KEY, "delta.weight", 0, 5 * DRAWN)
    np.testing.assert_array_equal(whole_noise(1e6, KEY, "delta.weight", start, count), whole[start : start + count])


@pytest.mark.parametrize(("key", "name"), [(bytes(32), "delta.weight"), (KEY, "delta.bias")])
def test_another_key_or_name_gives_unrelated_noise(key: bytes, name: str) -> None:
    one, other = whole_noise(1e6, KEY, "delta.weight", 0, DRAWN), whole_noise(1e6, key, name, 0, DRAWN)
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / DRAWN**0.5


def test_a_release_has_a_key_of_its_secret_and_of_exactly_what_is_summed() -> None:
    keys = [
        release_key(KEY, "a 1", "b 1"),
        release_key(bytes(32), "a 1", "b 1"),
        release_key(KEY, "a 1"),
        release_key(KEY, "a 1", "b 2"),
    ]
    assert len(set(keys)) == len(keys)
    assert release_key(KEY, "b 1", "a 1") == keys[0]
    assert {len(key) for key in keys} == {32}
