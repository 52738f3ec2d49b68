from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.labelling import (
    AskPolicy,
    Labelling,
    answer,
    ask,
    questions_left,
    undo,
)

NOON = 12


LOOKS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 23), st.booleans()), max_size=60)
"""Days that passed, days that the clock is set back, the hour, and whether the owner undoes the answer."""


@given(st.integers(0, 4), LOOKS)
def test_no_day_has_more_questions_than_the_owner_allows(per_day: int, looks: list[tuple[int, int, int, bool]]) -> None:
    policy, state, today = AskPolicy(per_day=per_day), Labelling(), 1000
    asked: dict[int, int] = {}
    for passed, back, hour, slip in looks:
        today += passed
        if questions_left(state, policy, now=0.0, day=today - back, hour=hour) > 0:
            assert 8 <= hour < 21
            state = answer(ask(state, 1, day=today - back), 2)
            asked[state.day] = asked.get(state.day, 0) + 1
            state = undo(state, 3) if slip else state
    assert all(count <= per_day for count in asked.values())


def test_a_clock_that_was_wrong_by_years_takes_no_budget_away() -> None:
    ahead = ask(Labelling(), 1, day=80_000)
    assert questions_left(ahead, AskPolicy(per_day=1), now=0.0, day=1000, hour=NOON) == 1
