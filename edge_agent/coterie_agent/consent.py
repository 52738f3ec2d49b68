"""Before anything is done under a plan: whether the owner has agreed to what it has leave the device."""

from collections.abc import Sequence
from dataclasses import dataclass

from coterie_agent.config import ConsentSettings
from coterie_agent.errors import AgentError, Exit
from coterie_agent.store.agreements import Agreement, AgreementStore, AskedOfOwner, How
from coterie_learning.consent import WORDS, Scope, beyond
from coterie_wire.conditions import Reason

NOT_AGREED = "owner.not_agreed"
SAMPLES_STAY = "Your samples never leave. Until you agree, your device takes no part in it."


@dataclass(frozen=True)
class Consent:
    """The owner's word on plans."""

    settings: ConsentSettings
    store: AgreementStore

    def check(self, federation: str, asked: Sequence[Scope]) -> None:
        """Raises AgentError ``owner.not_agreed``."""
        if not self.covers(federation, asked):
            raise AgentError(NOT_AGREED, reason_of_asked(federation).sentence)

    def covers(self, federation: str, asked: Sequence[Scope]) -> bool:
        """Whether the owner has agreed to what the plan asks; where not, the owner is asked from now on."""
        more = beyond(self.store.scopes(), asked)
        if more and self.settings.more == "accept":
            self.store.agree(more, how="settings", read=question_of(AskedOfOwner(federation, more)))
            more = ()
        self.store.ask(federation, more)
        return not more

    def agree(self, asked: AskedOfOwner, *, how: How) -> Agreement:
        """The owner, who was shown `asked`, agrees to it.

        Raises AgentError ``owner.nothing_asked`` where this is not what is asked now.
        """
        if asked not in self.store.asked():
            detail = f"{asked.federation!r} does not ask this now; coterie-agent agree lists what is asked"
            raise AgentError("owner.nothing_asked", detail, exit_code=Exit.USAGE)
        return self.store.agree(asked.scopes, how=how, read=question_of(asked))


def question_of(asked: AskedOfOwner) -> str:
    """What the owner reads, word by word."""
    words = (f"- {WORDS[scope]}" for scope in asked.scopes)
    return "\n".join([f"{asked.federation} asks more than you have agreed to:", *words, SAMPLES_STAY])


def reason_of_asked(federation: str) -> Reason:
    """Why the device takes no part, and what its owner can do."""
    sentence = f"{federation} asks more than this device's owner has agreed to; agree with: coterie-agent agree"
    return Reason(NOT_AGREED, f"{sentence} {federation}"[:400])
