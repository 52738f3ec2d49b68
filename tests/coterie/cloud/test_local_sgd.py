"""AdaComm's period: numbers of equation 17, and of its refinement."""

from hypothesis import given
from hypothesis import strategies as st

from coterie.cloud.strategy.local_sgd import LocalSgd, Period, next_period

LOSSES = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20)


def test_the_period_follows_the_root_of_the_loss() -> None:
    assert next_period(20, 20, loss=0.25, first_loss=1.0, decay=0.5) == 10
    assert next_period(20, 10, loss=0.01, first_loss=1.0, decay=0.5) == 2


def test_where_the_loss_is_on_a_plateau_it_decays_all_the_same() -> None:
    assert next_period(20, 10, loss=0.9, first_loss=1.0, decay=0.5) == 5
    assert next_period(20, 10, loss=0.9, first_loss=1.0, decay=1.0) == 10
    assert next_period(20, 1, loss=0.9, first_loss=1.0, decay=0.5) == 1


def test_the_first_interval_only_tells_what_is_compared_with() -> None:
    strategy = LocalSgd(period=16)
    period = strategy.renew(strategy.begin(), 2.0)
    assert period == Period(16, first_loss=2.0)
    assert strategy.renew(period, 0.5) == Period(8, first_loss=2.0)


def test_a_fixed_period_stays() -> None:
    strategy = LocalSgd(period=16, adaptive=False)
    assert strategy.renew(strategy.begin(), 0.001) == Period(16)


def test_a_loss_that_is_not_finite_decides_nothing() -> None:
    strategy = LocalSgd(period=16)
    assert strategy.renew(Period(16, 1.0), float("nan")) == Period(16, 1.0)


@given(LOSSES, st.integers(1, 1000), st.floats(0.1, 1.0))
def test_it_never_grows_and_never_ends(losses: list[float], first: int, decay: float) -> None:
    strategy = LocalSgd(period=first, decay=decay)
    period = strategy.begin()
    for loss in losses:
        former, period = period, strategy.renew(period, loss)
        assert 1 <= period.steps <= former.steps
