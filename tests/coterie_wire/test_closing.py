"""What a close frame of a restarted platform says, and what others say that is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_wire.closing import LONGEST_SPREAD_S, SERVICE_RESTART, close_reason, reconnect_spread_s


@given(st.floats(0, 2 * LONGEST_SPREAD_S))
def test_a_spread_is_read_as_it_was_said(spread_s: float) -> None:
    reason = close_reason(spread_s)
    assert len(reason.encode()) <= 123, "what a close frame holds"
    assert reconnect_spread_s(SERVICE_RESTART, reason) == pytest.approx(min(spread_s, LONGEST_SPREAD_S), abs=0.051)
    assert reconnect_spread_s(1000, reason) == 0


@given(st.text(max_size=123))
def test_other_words_spread_nobody(reason: str) -> None:
    assert 0 <= reconnect_spread_s(SERVICE_RESTART, reason) <= LONGEST_SPREAD_S


@pytest.mark.parametrize("reason", ["", "reconnect within  s", "reconnect within nan s", "reconnect within -5 s"])
def test_what_is_no_number_spreads_nobody(reason: str) -> None:
    assert reconnect_spread_s(SERVICE_RESTART, reason) == 0
