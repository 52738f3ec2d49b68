"""What goes beyond an owner's word, and what does not."""

from itertools import chain, combinations

import msgspec
import pytest

from coterie_learning.consent import SCOPES, WORDS, Scope, not_covered
from coterie_learning.device_plan import parse_device_plan, scopes_of
from tests.coterie_agent.fake_platform import PLAN

SETS = list(chain.from_iterable(combinations(SCOPES, count) for count in range(len(SCOPES) + 1)))


@pytest.mark.parametrize("agreed", SETS, ids="+".join)
def test_what_is_agreed_to_covers_itself_and_what_was_beyond_is_covered_once_agreed_to(
    agreed: tuple[Scope, ...],
) -> None:
    assert not_covered(agreed, agreed) == ()
    for asked in SETS:
        more = not_covered(agreed, asked)
        assert set(more) <= set(asked) - set(agreed)
        assert not_covered((*agreed, *more), asked) == ()


def test_who_lets_the_platform_read_updates_lets_it_read_less_and_nothing_else() -> None:
    assert not_covered(("readable",), SCOPES) == ("help",)
    for less in ("noised", "summed", "help"):
        assert "readable" in not_covered((less,), SCOPES)
    assert not_covered(("summed",), ("noised",)) == ("noised",)
    assert not_covered(("noised",), ("summed",)) == ("summed",)


def test_a_plan_asks_what_its_kinds_have_leave_the_device() -> None:
    assert parse_device_plan(_plan(privacy="central_noise", help="none")).scopes == ("readable",)
    assert parse_device_plan(_plan(privacy="distributed_noise", help="cartel")).scopes == ("summed", "help")
    assert scopes_of("of_later", "of_later") == ("help",), "no part is taken under a kind that is not there"


def test_each_has_its_words() -> None:
    assert tuple(WORDS) == SCOPES


def _plan(*, privacy: str, help: str) -> bytes:
    return msgspec.json.encode({**PLAN, "privacy": {"kind": privacy}, "help": {"kind": help}})
