"""The device's own account: what it has told under noise never exceeds what its owner allows."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie_agent.budget import OUT_OF_BUDGET, Budget
from coterie_agent.config import PrivacySettings
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.store.opened import open_store
from coterie_learning.accounting import cost_of, epsilon_of


def test_a_release_is_charged_once_and_refused_when_it_would_be_too_much(tmp_path: Path) -> None:
    with open_store(Home(tmp_path)) as store:
        budget = Budget(PrivacySettings(epsilon=2.0), store.privacy_ledger)
        for _ in range(3):
            budget.charge("a", "digits", 4.0, now=1.0)
        assert budget.spent_epsilon() == pytest.approx(epsilon_of(cost_of(4.0), 1e-6))
        budget.charge("b", "voices", 4.0, now=2.0)
        with pytest.raises(AgentError) as refused:
            budget.check(3.0)
        assert refused.value.code == OUT_OF_BUDGET
        with pytest.raises(AgentError):
            budget.charge("c", "digits", 3.0, now=3.0)
        assert store.privacy_ledger.spent_by_federation() == (("digits", cost_of(4.0)), ("voices", cost_of(4.0)))


def test_what_was_told_is_known_after_a_restart_and_under_a_lower_budget(tmp_path: Path) -> None:
    with open_store(Home(tmp_path)) as store:
        Budget(PrivacySettings(epsilon=2.0), store.privacy_ledger).charge("a", "digits", 4.0, now=1.0)
    with open_store(Home(tmp_path)) as store:
        lowered = Budget(PrivacySettings(epsilon=0.5), store.privacy_ledger)
        with pytest.raises(AgentError):
            lowered.check(1000.0)
        lowered.charge("a", "digits", 4.0, now=1.0)  # what has been told before is no news
        Budget(PrivacySettings(epsilon=2.0), store.privacy_ledger).check(4.0)


def test_an_owner_who_allows_nothing_is_told_of_nothing(tmp_path: Path) -> None:
    with open_store(Home(tmp_path)) as store, pytest.raises(AgentError):
        Budget(PrivacySettings(epsilon=0), store.privacy_ledger).check(1000.0)


def test_a_damaged_account_pays_for_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with open_store(home) as store:
        Budget(PrivacySettings(), store.privacy_ledger).charge("a", "digits", 400.0, now=1.0)
    with sqlite3.connect(home.database) as connection:
        connection.execute("UPDATE told SET mu2 = 0")
    with open_store(home) as store:
        budget = Budget(PrivacySettings(), store.privacy_ledger)
        assert budget.spent_epsilon() == float("inf")
        with pytest.raises(AgentError):
            budget.charge("b", "digits", 400.0, now=1.0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(
    releases=st.lists(st.tuples(st.integers(0, 9), st.floats(0.5, 20)), max_size=30),
    epsilon=st.floats(0.1, 10),
)
def test_no_order_of_releases_exceeds_the_budget(
    tmp_path_factory: pytest.TempPathFactory, releases: list[tuple[int, float]], epsilon: float
) -> None:
    with open_store(Home(tmp_path_factory.mktemp("home"))) as store:
        budget = Budget(PrivacySettings(epsilon=epsilon), store.privacy_ledger)
        charged: dict[str, float] = {}
        for number, noise in releases:
            try:
                budget.charge(str(number), "digits", noise, now=1.0)
            except AgentError:
                continue
            charged.setdefault(str(number), cost_of(noise))
        assert budget.spent_epsilon() <= epsilon * (1 + 1e-6)
        assert store.privacy_ledger.spent() == pytest.approx(sum(charged.values()))
