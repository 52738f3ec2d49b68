"""Shows the owner what a platform asks before the device joins, and asks for agreement."""

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from coterie_agent.commands.asking import confirms
from coterie_agent.config import ConsentSettings
from coterie_agent.errors import AgentError, Exit
from coterie_agent.link.failure import Refused
from coterie_agent.link.http import HttpLink
from coterie_agent.store.agreements import How
from coterie_learning.consent import SCOPES, WORDS, Scope
from coterie_wire.conditions import Requirements
from coterie_wire.invitation import Invitation, Learned, ReadInvitation

_UNKNOWN_MESSAGE = "gateway.unknown_message"
_NOTHING = "Nothing yet: whoever runs the platform has not started anything for devices like yours."
_NO_PART = "This agent cannot take part in it yet: it does not know how it hides what devices learned."
_LEAVES = (
    "- how a model's numbers changed when your device trained it on your samples",
    "- how many samples of each class you have, and how well the model does on them",
    "- whether the device is charging, its kind of network and temperature, its processor and memory, and its name",
)
_ASKED_FIRST = "Where more is asked of your device one day, you are asked first."
_SETTINGS_AGREE = 'Where more is asked of your device one day, agent.toml agrees to it (more = "accept").'


class OwnersAgreement(NamedTuple):
    """What the owner agrees to when the device joins."""

    scopes: tuple[Scope, ...]
    how: How
    read: str


def ask_owner(
    platform: HttpLink, url: str, token: str, settings: ConsentSettings, *, yes: bool, prompts: bool
) -> OwnersAgreement:
    """Read the invitation, which does not use up the token, and have the owner agree to what it asks.

    `yes`, or settings that accept what plans ask, count as agreement; else the owner is asked at the terminal if
    `prompts`. Raises AgentError ``owner.nobody_to_ask`` or ``owner.declined``, Unreachable, or Refused where the token
    is not valid.
    """
    asked = [(one, _scopes(one)) for one in _learned(platform, token)]
    scopes = tuple(scope for scope in SCOPES if any(scope in found for _, found in asked))
    accepts = settings.more == "accept"
    read = "\n".join([*_lines(url, asked), _SETTINGS_AGREE if accepts else _ASKED_FIRST])
    if accepts or yes:
        return OwnersAgreement(scopes, "settings" if accepts else "unattended", read)
    sys.stderr.write(read + "\n")
    if not prompts:
        detail = "nobody is at a terminal to agree to what the platform asks: join with --yes, which agrees to it, or "
        detail += 'write more = "accept" under [consent] in agent.toml, which agrees to all that plans will ask'
        raise AgentError("owner.nobody_to_ask", detail, exit_code=Exit.USAGE)
    if not confirms("Agree, and join?"):
        raise AgentError("owner.declined", "not agreed to: the device has not joined", exit_code=Exit.USAGE)
    return OwnersAgreement(scopes, "terminal", read)


def _learned(platform: HttpLink, token: str) -> tuple[Learned, ...]:
    """The invitation's plans; empty for an older platform, whose plans are asked about later, one by one."""
    try:
        return platform.call(ReadInvitation(token), Invitation).learned
    except Refused as refusal:
        if refusal.code != _UNKNOWN_MESSAGE:
            raise
        return ()


def _scopes(learned: Learned) -> tuple[Scope, ...]:
    from coterie_learning.device_plan import scopes_of  # it loads NumPy

    return scopes_of(learned.privacy, learned.help)


def _lines(url: str, asked: Sequence[tuple[Learned, tuple[Scope, ...]]]) -> Iterator[str]:
    yield f"{url} asks this device to learn with others."
    if not asked:
        yield _NOTHING
    for one, scopes in asked:
        yield f"{one.name}: to tell apart {', '.join(one.labels)}." if one.labels else f"{one.name}."
        yield f"  It trains {_conditions_of(one.requirements)}."
        if not set(scopes) - {"help"}:
            yield f"  {_NO_PART}"
        yield from (f"  {WORDS[scope]}" for scope in scopes)
    yield "What leaves your device:"
    yield from _LEAVES
    if any("help" in scopes for _, scopes in asked):
        yield "- parts of its model, for devices that ask for help"
    yield "Your samples never leave. What was sent you read later: coterie-agent status, and your page."
    yield "How to stop: stop the agent, or coterie-agent leave."


def _conditions_of(asked: Requirements) -> str:
    """The conditions for training, as text for people."""
    parts = [
        *(["it is charging"] if asked.charging else []),
        *(["it is on Wi-Fi or Ethernet"] if asked.unmetered else []),
        *(["nobody uses it"] if asked.idle else []),
        *([f"it is no hotter than {asked.max_temperature_c:g} °C"] if asked.max_temperature_c is not None else []),
        *([f"it is between {asked.hours[0]}:00 and {asked.hours[1]}:00"] if asked.hours is not None else []),
    ]
    return f"while {', and '.join(parts)}" if parts else "at any time"
