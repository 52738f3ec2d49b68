"""``coterie-agent agree``: what federations may tell of this device that was raised, and the owner's word on it."""

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.reading import reading_store
from coterie_agent.config import load_config
from coterie_agent.home import Home
from coterie_agent.promised import Agreed, Promised, reason_of_raised


class RaisedBudgets(msgspec.Struct, frozen=True):
    """What is asked for."""

    raised: list[Agreed]


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.not_joined`` or ``privacy.nothing_asked``."""
    with reading_store(arguments.home) as store:
        if not arguments.federation:
            raised = store.promises.raised()
            lines = [reason_of_raised(one).sentence for one in raised] or ["no federation asks for a larger budget"]
            asked = [Agreed(one.federation, one.asked.epsilon, one.asked.delta) for one in raised]
            return Output(RaisedBudgets(asked), lines)
        settings = load_config(Home(arguments.home).config).privacy
        budget = Promised(settings, store.promises).agree(arguments.federation)
    agreed = Agreed(arguments.federation, budget.epsilon, budget.delta)
    line = f"{agreed.federation} may tell epsilon {agreed.epsilon:g} at delta {agreed.delta:g} of this device"
    return Output(agreed, [line])
