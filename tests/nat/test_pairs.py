"""Two devices behind every pair of address translators: a direct path where theory has one, and always the content."""

import pytest

from tests.nat.network import PAIRS, Nat, is_meetable, why_not_here
from tests.nat.pairs import fetch

SIZE_BYTES = 300_000
pytestmark = pytest.mark.long


@pytest.fixture(scope="module", autouse=True)
def _can_be_built() -> None:
    why = why_not_here()
    if why:
        pytest.skip(why)


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=[f"{a} and {b}" for a, b in PAIRS])
def test_each_pair_reaches_each_other_by_the_way_that_theory_allows(a: Nat, b: Nat) -> None:
    found = fetch(a, b, size_bytes=SIZE_BYTES)
    assert found.way == ("direct" if is_meetable(a, b) else "relayed"), found.why


def test_a_path_comes_about_and_holds_on_a_line_that_delays_and_loses() -> None:
    found = fetch("port-restricted", "port-restricted", size_bytes=SIZE_BYTES, delay_ms=50, loss=0.05)
    assert found.way == "direct", found.why
