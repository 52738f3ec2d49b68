import pytest

from coterie.seeding.peers import spread


@pytest.mark.parametrize("size", range(3, 12))
def test_what_is_spread_is_never_the_same_twice(size: int) -> None:
    places = spread(3, size)
    assert len(set(places)) == 3
    assert max(places) < size
