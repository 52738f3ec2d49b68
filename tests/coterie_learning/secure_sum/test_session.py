"""The sum under masks is the plain sum, bit for bit, whoever is lost; or nothing is recovered, with a reason."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_learning.secure_sum.terms import SumTerms
from coterie_learning.secure_sum.vector import Layout
from coterie_wire.errors import WireError
from tests.coterie_learning.secure_sum.session import EASY, collect, plain_sum, unmasked

LAYOUT = Layout(length=40, bits=16, tail=3)


@pytest.mark.parametrize("bits", [8, 12, 16, 20, 32])
def test_nobody_is_lost(bits: int) -> None:
    layout = Layout(length=70_000, bits=bits, tail=2)
    found = collect(5, layout)

    recovered, plain = unmasked(found, layout), plain_sum(found)

    assert np.array_equal(recovered.numbers, plain.numbers)
    assert np.array_equal(recovered.tail, plain.tail)


def test_a_hundred_members_of_a_sparse_graph_lose_some_at_every_step() -> None:
    terms = SumTerms(fewest=50, corrupted=0.05, dropped=0.3, adversary="curious")
    found = collect(
        100, LAYOUT, terms, before_sharing=range(10), before_vector=range(10, 20), before_revealing=range(20, 30)
    )

    recovered, plain = unmasked(found, LAYOUT, terms), plain_sum(found)

    assert terms.graph(100).neighbours < 99
    assert len(found.survivors) == 80
    assert np.array_equal(recovered.numbers, plain.numbers)
    assert np.array_equal(recovered.tail, plain.tail)


def test_a_masked_vector_tells_nothing_of_the_vector() -> None:
    layout = Layout(length=60_000, bits=8, tail=1)
    found = collect(3, layout)
    for place, file in found.files.items():
        sent = np.frombuffer(file[-60_000 - 8 : -8], np.uint8)
        counts = np.bincount(sent, minlength=256)
        assert abs(np.corrcoef(sent, found.vectors[place].numbers)[0, 1]) < 0.02
        assert ((counts - 60_000 / 256) ** 2 / (60_000 / 256)).sum() < 400  # chi-squared of 255 degrees: 377 at 1e-6


@settings(deadline=None, max_examples=60)
@given(
    count=st.integers(4, 9),
    lost=st.lists(st.tuples(st.integers(0, 8), st.sampled_from(["sharing", "vector", "revealing"])), max_size=5),
)
def test_whoever_is_lost_the_sum_is_right_or_there_is_none(count: int, lost: list[tuple[int, str]]) -> None:
    layout = Layout(length=4, bits=16, tail=1)
    at = {step: {place for place, when in lost if when == step} for step in ("sharing", "vector", "revealing")}
    try:
        found = collect(
            count,
            layout,
            before_sharing=at["sharing"],
            before_vector=at["vector"],
            before_revealing=at["revealing"],
        )
        recovered = unmasked(found, layout)
    except WireError as error:
        threshold = EASY.graph(count).threshold
        assert error.code in {"secure_sum.too_few", "secure_sum.too_few_shared", "secure_sum.too_few_shares"}
        assert count - len({place for place, _ in lost}) <= threshold
        return
    assert np.array_equal(recovered.numbers, plain_sum(found).numbers)
    assert np.array_equal(recovered.tail, plain_sum(found).tail)
