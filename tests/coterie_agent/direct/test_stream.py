"""The reliable stream over lines that lose, double, delay and reorder."""

import random
import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_agent.direct.stream import FAILS_AFTER_S, SEGMENT_BYTES, WINDOW_BYTES, ReliableStream
from tests.coterie_agent.direct.lines import Line

CONTENT = random.Random(7).randbytes(300_000)


@given(
    sizes=st.lists(st.integers(0, 40_000), min_size=1, max_size=4),
    loss=st.floats(0, 0.3),
    doubled=st.floats(0, 0.5),
    jitter_s=st.floats(0, 0.2),
    delay_s=st.floats(0, 0.3),
    seed=st.integers(0, 2**32),
)
def test_both_sides_read_what_the_other_wrote(
    sizes: list[int], loss: float, doubled: float, jitter_s: float, delay_s: float, seed: int
) -> None:
    line = Line(delay_s=delay_s, jitter_s=jitter_s, loss=loss, doubled=doubled, seed=seed)
    to_right = b"".join(CONTENT[:size] for size in sizes)
    to_left = CONTENT[: sizes[0]]
    for size in sizes:
        line.right.receive(b"noise", now=0.0)
        line.left.write(CONTENT[:size])
    line.right.write(to_left)
    assert line.run(seconds=600) == (to_left, to_right)
    assert line.left.unsent_bytes == line.right.unsent_bytes == 0


@given(datagrams=st.lists(st.binary(max_size=60) | st.sampled_from([b"", b"D", b"A"]), max_size=30))
@settings(max_examples=200)
def test_what_is_no_datagram_of_it_changes_nothing_that_is_read(datagrams: list[bytes]) -> None:
    stream = ReliableStream()
    stream.write(b"said")
    for datagram in datagrams:
        stream.receive(datagram, now=0.0)
    assert stream.is_closed or list(stream.to_send(now=1.0))


def test_a_stranger_fills_no_more_than_the_window() -> None:
    stream = ReliableStream()
    for start in range(1, 4 * WINDOW_BYTES, 97):  # each overlaps those around it
        stream.receive(struct.pack("!BQ", 0x44, start) + b"x" * SEGMENT_BYTES, now=0.0)
    held = stream._incoming._ahead
    assert 0 < sum(map(len, held.values())) <= WINDOW_BYTES
    assert stream.read() == b""


def test_acknowledging_what_was_never_sent_changes_nothing() -> None:
    stream = ReliableStream()
    stream.write(b"said")
    stream.to_send(now=0.0)
    stream.receive(struct.pack("!BQ", 0x41, 99), now=0.1)
    assert stream.unsent_bytes == 4


def test_it_fails_where_nobody_answers() -> None:
    line = Line(loss=1.0)
    line.left.write(b"anybody?")
    line.run(seconds=FAILS_AFTER_S + 10)
    assert line.left.has_failed(now=line.now)
    assert not line.right.has_failed(now=line.now)


def test_one_side_closes() -> None:
    line = Line()
    line.left.write(b"last word")
    assert line.run(seconds=5) == (b"", b"last word")
    line.left.close()
    line.run(seconds=5)
    assert line.left.is_closed
    assert line.right.is_closed


def test_a_clean_line_is_filled() -> None:
    """20 Mbit/s and 50 ms there and back: at least four fifths of it, and hardly anything twice."""
    line = Line(delay_s=0.025, bytes_per_s=2.5e6, queue_bytes=128 << 10)
    content = CONTENT * 40
    line.left.write(content)
    assert line.run(seconds=60)[1] == content
    assert len(content) / line.now > 0.8 * 2.5e6
    assert line.sent_bytes < 1.1 * len(content)


def test_it_yields_to_a_narrow_queue() -> None:
    """A queue of a few segments: most of the line is used, and few segments are lost over and over."""
    line = Line(delay_s=0.02, bytes_per_s=1e6, queue_bytes=16 << 10)
    content = CONTENT * 20
    line.left.write(content)
    assert line.run(seconds=120)[1] == content
    assert len(content) / line.now > 0.6 * 1e6
    assert line.sent_bytes < 1.2 * len(content)


def test_losses_of_a_radio_link_do_not_empty_the_line() -> None:
    """One packet of a hundred, at random: New Reno would fill less than a sixth of these 20 Mbit/s."""
    line = Line(delay_s=0.025, bytes_per_s=2.5e6, queue_bytes=128 << 10, loss=0.01)
    content = CONTENT * 40
    line.left.write(content)
    assert line.run(seconds=120)[1] == content
    assert len(content) / line.now > 0.5 * 2.5e6
