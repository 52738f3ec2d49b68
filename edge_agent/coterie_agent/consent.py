"""Checks, before anything is done under a plan, that the owner has agreed to what the plan sends from the device."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec

from coterie_agent.config import ConsentSettings
from coterie_agent.errors import AgentError, Exit
from coterie_agent.store.agreements import Agreement, AgreementStore, AskedOfOwner, How
from coterie_learning.consent import (
    FEDERATION,
    LABELS,
    SCOPES,
    WORDS,
    Scope,
    description_of,
    is_part,
    not_covered,
    withdrawn_parts,
)
from coterie_wire.conditions import Reason

NOT_AGREED = "owner.not_agreed"
TAKEN_BACK = "owner.taken_back"
SAMPLES_STAY = "Your samples never leave. Until you agree, your device takes no part in it."


@dataclass(frozen=True)
class Consent:
    """The owner's decisions on what plans may send."""

    settings: ConsentSettings
    store: AgreementStore

    def check(self, federation: str, asked: Sequence[Scope]) -> None:
        """Raises AgentError ``owner.taken_back`` or ``owner.not_agreed``."""
        parts = withdrawn_parts(self.store.withdrawn(), federation, asked)
        if parts:
            raise AgentError(TAKEN_BACK, reason_taken_back(parts[0]).sentence)
        if not self.covers(federation, asked):
            raise AgentError(NOT_AGREED, reason_not_agreed(federation).sentence)

    def covers(self, federation: str, asked: Sequence[Scope]) -> bool:
        """Whether the owner has agreed to what the plan asks; if not, the request becomes pending for the owner."""
        more = not_covered(self.store.scopes(), asked)
        if more and self.settings.more == "accept":
            self.store.agree(more, how="settings", read=question_of(AskedOfOwner(federation, more)))
            more = ()
        self.store.ask(federation, more)
        return not more

    def take_back(self, part: str, *, how: How) -> Agreement:
        """Record that the owner withdraws a part of what the device may do.

        Raises AgentError ``owner.unknown_part`` or ``owner.nothing_agreed``.
        """
        _check_part(part)
        if not self.store.editions():
            detail = "nothing was agreed to yet, so there is nothing to take back"
            raise AgentError("owner.nothing_agreed", detail, exit_code=Exit.USAGE)
        return self.store.withdraw(part, how=how, read=f"You have taken this back:\n- {description_of(part)}")

    def give_again(self, part: str, *, how: How) -> Agreement:
        """Record that the owner gives again what was withdrawn.

        Raises AgentError ``owner.unknown_part`` or ``owner.not_taken_back``.
        """
        _check_part(part)
        if part not in self.store.withdrawn():
            raise AgentError("owner.not_taken_back", f"{part!r} was not taken back", exit_code=Exit.USAGE)
        return self.store.give_again(part, how=how, read=f"You have given this again:\n- {description_of(part)}")

    def agree(self, asked: AskedOfOwner, *, how: How) -> Agreement:
        """Record that the owner, who was shown `asked`, agrees to it.

        Raises AgentError ``owner.nothing_asked`` where this is not what is asked now.
        """
        if asked not in self.store.pending():
            detail = f"{asked.federation!r} does not ask this now; coterie-agent agree lists what is asked"
            raise AgentError("owner.nothing_asked", detail, exit_code=Exit.USAGE)
        return self.store.agree(asked.scopes, how=how, read=question_of(asked))


class ConsentPart(msgspec.Struct, frozen=True):
    """A part of the consent that the owner may withdraw."""

    part: str
    words: str
    is_withdrawn: bool


def parts_of(store: AgreementStore, *, federations: Collection[str]) -> tuple[ConsentPart, ...]:
    """All parts that the owner can withdraw or give again: agreed scopes, `federations`, and questions for labels."""
    withdrawn = store.withdrawn()
    known = {*withdrawn, *(FEDERATION + name for name in federations), *((LABELS,) if store.editions() else ())}
    scopes = store.scopes()
    ordered = (*sorted(known - {*SCOPES, LABELS}), *(one for one in SCOPES if one in known or one in scopes))
    ordered += (LABELS,) if LABELS in known else ()
    return tuple(ConsentPart(part, description_of(part), part in withdrawn) for part in ordered)


def _check_part(part: str) -> None:
    if not is_part(part):
        detail = f"{part!r} is none of federation:NAME, {', '.join(SCOPES)} and {LABELS}"
        raise AgentError("owner.unknown_part", detail, exit_code=Exit.USAGE)


def reason_taken_back(part: str) -> Reason:
    """Why the device does not do what its owner had agreed to before, and what the owner can do."""
    sentence = (
        f"you have taken back: {description_of(part)} Give it again with: coterie-agent consent --give-again {part}"
    )
    return Reason(TAKEN_BACK, sentence[:400])


def question_of(asked: AskedOfOwner) -> str:
    """The exact text that the owner reads."""
    words = (f"- {WORDS[scope]}" for scope in asked.scopes)
    return "\n".join([f"{asked.federation} asks more than you have agreed to:", *words, SAMPLES_STAY])


def reason_not_agreed(federation: str) -> Reason:
    """Why the device takes no part, and what the owner can do."""
    sentence = f"{federation} asks more than this device's owner has agreed to; agree with: coterie-agent agree"
    return Reason(NOT_AGREED, f"{sentence} {federation}"[:400])
