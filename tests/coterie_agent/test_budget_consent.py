"""A federation's budget that is raised: the owner is asked again where the policy says so, and nobody else decides."""

import sqlite3
from pathlib import Path

import pytest

from coterie_agent.budget_consent import BUDGET_RAISED, BudgetConsent, reason_budget_raised
from coterie_agent.config import PrivacySettings
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.store.opened import open_store
from coterie_wire.messages import PrivacyBudget

ASKS = PrivacySettings(raised="ask")
EIGHT, NINE = PrivacyBudget(8.0, 1e-6), PrivacyBudget(9.0, 1e-6)


def test_the_first_budget_holds_and_a_larger_one_only_once_the_owner_agrees(tmp_path: Path) -> None:
    with open_store(Home(tmp_path)) as store:
        promised = BudgetConsent(ASKS, store.promises)
        promised.check("digits", EIGHT)
        promised.check("digits", EIGHT)
        for _ in range(2):
            with pytest.raises(AgentError) as refused:
                promised.check("digits", NINE)
            assert refused.value.code == BUDGET_RAISED
        promised.check("voices", NINE)
    with open_store(Home(tmp_path)) as store:  # also after a restart
        promised = BudgetConsent(ASKS, store.promises)
        (raised,) = store.promises.raised()
        assert raised == ("digits", EIGHT, NINE)
        assert "coterie-agent agree digits" in reason_budget_raised(raised).sentence
        assert promised.agree("digits") == NINE
        promised.check("digits", NINE)
        assert store.promises.raised() == ()
        with pytest.raises(AgentError) as nothing:
            promised.agree("digits")
        assert nothing.value.code == "privacy.nothing_asked"


@pytest.mark.parametrize("budget", [PrivacyBudget(7.0, 1e-6), PrivacyBudget(8.0, 1e-7)])
def test_what_is_no_more_needs_nobody_and_is_what_holds_then(tmp_path: Path, budget: PrivacyBudget) -> None:
    with open_store(Home(tmp_path)) as store:
        promised = BudgetConsent(ASKS, store.promises)
        promised.check("digits", EIGHT)
        promised.check("digits", budget)
        with pytest.raises(AgentError):
            promised.check("digits", EIGHT)
        promised.check("digits", budget)
        assert store.promises.raised() == (), "what was asked has been taken back"


def test_a_larger_delta_is_more_too(tmp_path: Path) -> None:
    with open_store(Home(tmp_path)) as store:
        promised = BudgetConsent(ASKS, store.promises)
        promised.check("digits", EIGHT)
        with pytest.raises(AgentError):
            promised.check("digits", PrivacyBudget(8.0, 1e-4))


def test_an_owner_who_accepts_is_not_asked(tmp_path: Path) -> None:
    with open_store(Home(tmp_path)) as store:
        accepts = BudgetConsent(PrivacySettings(), store.promises)
        accepts.check("digits", EIGHT)
        accepts.check("digits", NINE)
        assert store.promises.raised() == ()
        BudgetConsent(ASKS, store.promises).check("digits", NINE)


def test_a_damaged_promise_is_asked_of_the_platform_anew(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with open_store(home) as store:
        BudgetConsent(ASKS, store.promises).check("digits", EIGHT)
    with sqlite3.connect(home.database) as connection:
        connection.execute("UPDATE promise SET epsilon = 900")
    with open_store(home) as store:
        assert store.promises.agreed("digits") is None
        BudgetConsent(ASKS, store.promises).check("digits", EIGHT)
        assert store.promises.agreed("digits") == EIGHT
