"""``coterie-agent consent``: what the owner has agreed to, part by part, and withdrawing parts or giving them again."""

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.reading import reading_store
from coterie_agent.config import load_config
from coterie_agent.consent import Consent, ConsentPart, parts_of
from coterie_agent.home import Home
from coterie_agent.store.opened import Store
from coterie_learning.consent import FEDERATION


class OwnersParts(msgspec.Struct, frozen=True):
    """Each part, and whether it is withdrawn."""

    parts: tuple[ConsentPart, ...]


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.not_joined``, ``config.invalid``, ``owner.unknown_part``, ``owner.not_taken_back``…"""
    config = load_config(Home(arguments.home).config)
    with reading_store(arguments.home) as store:
        consent = Consent(config.consent, store.agreements)
        if arguments.take_back:
            consent.take_back(arguments.take_back, how="terminal")
        elif arguments.give_again:
            consent.give_again(arguments.give_again, how="terminal")
        known = _federations(store)
        parts = parts_of(store.agreements, federations=known)
    lines = [f"{'taken back' if one.is_withdrawn else 'agreed'}: {one.part}: {one.words}" for one in parts]
    name = arguments.take_back.removeprefix(FEDERATION)
    if name != arguments.take_back and name not in known:
        lines.append(f"this device knows no federation {name!r}; it knows {', '.join(known) or 'none yet'}")
    return Output(OwnersParts(parts), lines or ["nothing was agreed to yet"])


def _federations(store: Store) -> tuple[str, ...]:
    """The device's federations as the platform last named them, and those in whose rounds it was of late."""
    status = store.journal.status()
    named = () if status is None else status.federations
    return tuple(dict.fromkeys((*named, *(done.federation for done in store.work.outcomes() if done.federation))))
