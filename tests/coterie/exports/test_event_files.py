"""Event files are what TensorBoard's own messages and checksums say, whatever the figures are called and are."""

from hypothesis import given
from hypothesis import strategies as st

from coterie.exports.event_files import event_file
from tests.coterie.exports.event_reading import events_in

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(
    wall_time=st.floats(0, 1e10),
    step=st.integers(0, 2**53),
    values=st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=200), FLOATS, max_size=5),
)
def test_what_was_written_is_read(wall_time: float, step: int, values: dict[str, float]) -> None:
    begins, figures = events_in(event_file(wall_time=wall_time, step=step, values=values))
    assert (begins.wall_time, begins.file_version) == (wall_time, "brain.Event:2")
    assert (figures.wall_time, figures.step) == (wall_time, step)
    assert {one.tag: one.simple_value for one in figures.summary.value} == values


def test_a_figure_beyond_single_precision_is_the_largest_that_it_has() -> None:
    _, figures = events_in(event_file(wall_time=0.0, step=0, values={"loss": 1e300, "gain": -1e300}))
    largest = float.fromhex("0x1.fffffep127")
    assert [one.simple_value for one in figures.summary.value] == [largest, -largest]
