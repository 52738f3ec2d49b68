"""Assignments that have ended here and that the platform goes on naming, as after a restored backup."""

from dataclasses import dataclass

from coterie_agent.errors import AgentError
from coterie_wire.messages import Assignment, Directive

NAMED_OFTEN = 3
"""Answers in a row. The first two may have been on their way when the assignment ended."""


@dataclass
class StillNamed:
    """Counts the answers in a row that name an ended assignment."""

    _last: Directive | None = None
    _times: int = 0

    def count(self, directive: Directive, ended: Assignment) -> Assignment | None:
        """`ended`, which `directive` names, once too many answers have for all of them to be old; else None."""
        if directive is not self._last:
            before = None if self._last is None else self._last.assignment
            again = before is not None and before.assignment == ended.assignment
            self._last, self._times = directive, self._times + 1 if again else 1
        return ended if self._times >= NAMED_OFTEN else None

    def given_back(self) -> AgentError:
        """Count anew, and say why it is given back."""
        self._times = 0
        detail = "the device has ended this assignment, and the platform has forgotten how, as after a restored backup"
        return AgentError("agent.ended_before", detail)
