import pytest

from coterie.core.spans import span


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (2.5, "2.5 s"),
        (119, "119 s"),
        (120, "2 minutes"),
        (3_600, "60 minutes"),
        (31_771, "8 hours"),
        (172_799, "47 hours"),
        (184_916, "2 days"),
    ],
)
def test_a_span_is_told_in_the_largest_unit_of_which_there_are_two(seconds: float, said: str) -> None:
    assert span(seconds) == said
