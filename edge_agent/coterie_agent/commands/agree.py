"""``coterie-agent agree``: pending requests of federations, and the owner's agreement to them."""

import sys

import msgspec

from coterie_agent.budget_consent import Agreed, BudgetConsent, reason_budget_raised
from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.asking import confirms, may_ask
from coterie_agent.commands.reading import reading_store
from coterie_agent.config import load_config
from coterie_agent.consent import Consent, question_of
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home
from coterie_agent.store.agreements import AskedOfOwner


class OwnersAnswer(msgspec.Struct, frozen=True):
    """The pending requests, and whether the owner has agreed to them now."""

    agreed: bool
    plans: tuple[AskedOfOwner, ...]
    """What plans want to send from the device beyond what was agreed to."""
    budgets: tuple[Agreed, ...]
    """Privacy budgets of federations that were raised."""


def run(arguments: Arguments) -> Output:
    """Agree to what the named federation asks, or to all with ``--yes``; else list it, and ask at a terminal.

    Raises AgentError ``agent.not_joined``, ``config.invalid`` or ``owner.nothing_asked``.
    """
    named = arguments.federation
    config = load_config(Home(arguments.home).config)
    with reading_store(arguments.home) as store:
        plans = tuple(one for one in store.agreements.pending() if named in ("", one.federation))
        raised = tuple(one for one in store.promises.raised() if named in ("", one.federation))
        if named and not plans and not raised:
            detail = f"{named!r} asks nothing beyond what was agreed to; coterie-agent agree lists what is asked"
            raise AgentError("owner.nothing_asked", detail, exit_code=Exit.USAGE)
        budgets = tuple(Agreed(one.federation, one.asked.epsilon, one.asked.delta) for one in raised)
        lines = [question_of(one) for one in plans] + [reason_budget_raised(one).sentence for one in raised]
        if not lines:
            return Output(OwnersAnswer(False, (), ()), ["nothing is asked beyond what was agreed to"])
        if not (named or arguments.yes or (may_ask(arguments) and _confirms(lines))):
            return Output(
                OwnersAnswer(False, plans, budgets), [*lines, "agree with: coterie-agent agree FEDERATION, or --yes"]
            )
        for plan in plans:
            Consent(config.consent, store.agreements).agree(plan, how="unattended" if arguments.yes else "terminal")
        for budget in budgets:
            BudgetConsent(config.privacy, store.promises).agree(budget.federation)
    done = [f"agreed to what {one.federation} asks" for one in plans]
    for one in budgets:
        done.append(f"{one.federation} may tell epsilon {one.epsilon:g} at delta {one.delta:g} of this device")
    return Output(OwnersAnswer(True, plans, budgets), done)


def _confirms(lines: list[str]) -> bool:
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    return confirms("Agree to all of this?")
