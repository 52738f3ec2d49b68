"""Who owes shares what is paid off equally with all others who owe, in bounded memory."""

import pytest

from coterie.gateway.door import refusal_costs
from coterie.gateway.door.limits import Limits
from coterie.gateway.door.refusal_costs import LONGEST_WAIT_S, RefusalCosts, RefusedTooOften

LIMITS = Limits(refusals_share=0.1, refusals_allowance_s=1.0)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def owed(clock: Clock) -> RefusalCosts:
    return RefusalCosts(LIMITS, clock)


def wait_of(owed: RefusalCosts, who: str) -> int:
    with pytest.raises(RefusedTooOften) as refused:
        owed.check(who)
    wait_s = refused.value.fields["wait_s"]
    assert isinstance(wait_s, int)
    return wait_s


def test_a_sender_may_owe_so_much_and_no_more(owed: RefusalCosts) -> None:
    owed.owe("a", 1.0)
    owed.check("a")
    owed.owe("a", 0.25)
    assert wait_of(owed, "a") == 3
    owed.check("b")


def test_one_alone_pays_with_the_whole_share(owed: RefusalCosts, clock: Clock) -> None:
    owed.owe("a", 1.25)
    clock.now += 2.4
    assert owed.is_over("a")
    clock.now += 0.2
    owed.check("a")
    clock.now += 10.0
    owed.owe("a", 0.25)
    owed.check("a")
    assert len(owed) == 1


def test_all_who_owe_pay_alike_and_what_is_left_of_one_goes_to_the_others(owed: RefusalCosts, clock: Clock) -> None:
    owed.owe("little", 0.5)
    owed.owe("much", 1.5)
    assert wait_of(owed, "much") == 10
    clock.now += 10.0
    owed.check("much")
    assert len(owed) == 1, "what was owed was equal to what both were given, 0.5 each"
    clock.now += 9.9
    assert len(owed) == 1
    clock.now += 0.2
    owed.check("much")
    assert len(owed) == 0


def test_however_many_send_they_take_no_more_than_the_share(owed: RefusalCosts, clock: Clock) -> None:
    """Fifty that send again as soon as they may: in the long run they get the share, and each as much."""
    cost_s, seconds = 0.01, 2000
    senders = [f"address {number}" for number in range(50)]
    served = dict.fromkeys(senders, 0)
    for _ in range(10 * seconds):
        clock.now += 0.1
        for sender in senders:
            if not owed.is_over(sender):
                served[sender] += 1
                owed.owe(sender, cost_s)
    taken_s = cost_s * sum(served.values())
    assert taken_s <= 0.1 * seconds + 50 * (1.0 + cost_s) + 1.0
    assert taken_s >= 0.1 * seconds
    assert max(served.values()) - min(served.values()) <= 1


def test_who_sends_little_never_waits_behind_those_who_send_much(owed: RefusalCosts, clock: Clock) -> None:
    for second in range(1000):
        clock.now += 1.0
        for number in range(20):
            owed.owe(f"address {number}", 0.1)
        if second % 5 == 0:
            owed.check("clumsy")
            owed.owe("clumsy", 0.01)
    assert not owed.is_over("clumsy")
    assert owed.is_over("address 0")


def test_what_is_owed_has_an_end(owed: RefusalCosts, clock: Clock) -> None:
    for _ in range(1000):
        owed.owe("a", 5.0)
    assert wait_of(owed, "a") == 10
    for number in range(100):
        owed.owe(str(number), 5.0)
    assert wait_of(owed, "a") == LONGEST_WAIT_S
    clock.now += 10.1 * 101
    owed.check("a")


def test_who_owes_least_is_forgotten_first(owed: RefusalCosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal_costs, "REMEMBERED", 3)
    for who, cost_s in (("a", 0.3), ("b", 0.2), ("c", 1.5), ("b", 1.5), ("d", 1.4)):
        owed.owe(who, cost_s)
    assert [owed.is_over(who) for who in "abcd"] == [False, True, True, True]
    assert len(owed) == 3
