"""Wrong guesses are few, by address and minute."""

from coterie_agent.network_page.guesses import REMEMBERED, WINDOW_S, WRONG_ALLOWED, Guesses


def test_an_address_may_be_wrong_so_often_a_minute_and_others_go_on() -> None:
    now = [0.0]
    guesses = Guesses(lambda: now[0])
    assert [guesses.may_try("a") for _ in range(WRONG_ALLOWED + 2)] == [True] * WRONG_ALLOWED + [False] * 2
    assert guesses.may_try("b")
    now[0] = WINDOW_S - 0.1
    assert not guesses.may_try("a")
    now[0] = WINDOW_S
    assert guesses.may_try("a")


def test_who_was_right_begins_anew() -> None:
    guesses = Guesses(lambda: 0.0)
    for _ in range(3 * WRONG_ALLOWED):
        assert guesses.may_try("a")
        guesses.forgive("a")


def test_memory_is_bounded() -> None:
    guesses = Guesses(lambda: 0.0)
    for number in range(2 * REMEMBERED):
        guesses.may_try(str(number))
    assert len(guesses._found) == REMEMBERED
