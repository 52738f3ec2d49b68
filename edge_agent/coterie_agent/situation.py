"""The state shared by the agent's threads: one immutable value, replaced under a lock, and a wait for the next."""

import threading
from typing import Any

import msgspec

from coterie_agent.errors import AgentError
from coterie_agent.policy import blocks_network
from coterie_agent.store.journal import IslandStatus, Link
from coterie_agent.store.peers import PeersStatus
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.meeting import Gathering
from coterie_wire.messages import Directive, Progress
from coterie_wire.relaying import Shedding

COMES_BACK = "agent.comes_back"
"""Why there is no contact before the platform expects the device; see `waits_for_window`."""
STARTING = Reason(code="agent.starting", sentence="the agent has just started and has not looked at its conditions yet")


class Now(msgspec.Struct, frozen=True):
    """The situation at one moment."""

    edition: int = 0
    """Grows with every change."""
    conditions: Conditions = Conditions()
    blockers: tuple[Reason, ...] = (STARTING,)
    directive: Directive | None = None
    """The platform's last answer."""
    closes_at: float | None = None
    """When the round of the directive's assignment closes, on the monotonic clock."""
    wakes: int = 0
    """How often the platform has signalled that it has news."""
    link: Link = "offline"
    link_problem: Reason | None = None
    progress: Progress | None = None
    version: str | None = None
    """Model version that the device holds."""
    model: ModelSpec | None = None
    forms: str = ""
    """Digest of the list of smaller forms of that version that the device knows; blank: none."""
    standing: str | None = None
    """Digest of the plan that applies between rounds."""
    asking: str | None = None
    """Identifier of the open help request."""
    peers: PeersStatus | None = None
    """What the device does between rounds."""
    sum_wait: Reason | None = None
    """What the secure sum for the device's update waits for."""
    question_wait: Reason | None = None
    """What the secure sum for the device's answer to a question waits for."""
    budget_wait: Reason | None = None
    """Why the device refused the latest round: its privacy cost exceeds what the owner allows; None: it did not."""
    update_wait: Reason | None = None
    """What the pending update of the agent waits for; None: it does not wait, or there is none."""
    shedding: Shedding | None = None
    """Members that it keeps as a supernode, where its load allows fewer than its owner does."""
    island: IslandStatus | None = None
    """What the supernodes of its neighbourhood have agreed on while the platform is unreachable."""
    ending: AgentError | None = None
    """The error that ends the agent; None: there is none."""
    stopping: bool = False

    @property
    def is_cut_off(self) -> bool:
        """Whether the device has tried to reach the platform and failed."""
        problem = self.link_problem
        return self.link == "offline" and problem is not None and problem.code != COMES_BACK

    def gathering(self, assignment: str) -> Gathering | None:
        """What the platform's last answer names for `assignment`; the answer that named it first may have had none.

        The first check-in of an agent does not say yet that its device meets others.
        """
        assigned = self.directive.assignment if self.directive else None
        return assigned.gathering if assigned is not None and assigned.assignment == assignment else None


class Situation:
    """Holds the current `Now`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.now = Now()

    def set_conditions(self, conditions: Conditions, blockers: tuple[Reason, ...]) -> None:
        """Record them, and delete from the platform's last answer a wait that was a blocker, and has passed."""
        with self._changed:
            passed = {reason.code for reason in self.now.blockers} - {reason.code for reason in blockers}
            directive = self.now.directive
            if directive is not None and directive.wait is not None and directive.wait.code in passed:
                directive = msgspec.structs.replace(directive, wait=None)
            self._replace(conditions=conditions, blockers=blockers, directive=directive)

    def set_directive(self, directive: Directive, *, at: float) -> None:
        """Record the platform's answer, received at `at` (seconds on the monotonic clock)."""
        assignment = directive.assignment
        self._replace(directive=directive, closes_at=None if assignment is None else at + assignment.remaining_s)

    def wake(self) -> None:
        with self._changed:
            self._replace(wakes=self.now.wakes + 1)

    def link(self, link: Link, problem: Reason | None = None) -> None:
        self._replace(link=link, link_problem=problem)

    def report(self, progress: Progress | None) -> None:
        self._replace(progress=progress)

    def hold(self, version: str, model: ModelSpec) -> None:
        self._replace(version=version, model=model, forms="")

    def set_forms(self, digest: str) -> None:
        """The device knows a list of smaller forms of the version that it holds."""
        self._replace(forms=digest)

    def set_peers(self, *, standing: str | None, asking: str | None, peers: PeersStatus | None) -> None:
        self._replace(standing=standing, asking=asking, peers=peers)

    def set_sum_wait(self, reason: Reason | None) -> None:
        """Record what the secure sum for the update waits for; None: it does not wait, or there is none."""
        self._replace(sum_wait=reason)

    def set_question_wait(self, reason: Reason | None) -> None:
        """Record what the secure sum for an answer waits for; None: it does not wait, or there is none."""
        self._replace(question_wait=reason)

    def set_budget_wait(self, reason: Reason | None) -> None:
        """Record why a round was refused that exceeds the owner's privacy budget; None: a round was within it."""
        self._replace(budget_wait=reason)

    def set_update_wait(self, reason: Reason | None) -> None:
        """Record what an update of the agent waits for; None: it does not wait, or there is none."""
        self._replace(update_wait=reason)

    def set_shedding(self, shedding: Shedding | None) -> None:
        """Record which members it keeps as a supernode; None: as many as its owner allows."""
        self._replace(shedding=shedding)

    def set_island(self, island: IslandStatus | None) -> None:
        """Record what the island has agreed on; None: the device takes part in no island now."""
        self._replace(island=island)

    def lose_model(self) -> None:
        """A part of the version is damaged; the platform sends the version again when the device reports none."""
        self._replace(version=None)

    def end(self, error: AgentError) -> None:
        self._replace(ending=error, stopping=True)

    def stop(self) -> None:
        self._replace(stopping=True)

    def wait_for_stop(self, timeout_s: float) -> None:
        """Wait until the agent is to stop, or `timeout_s` seconds have passed."""
        with self._changed:
            self._changed.wait_for(lambda: self.now.stopping, timeout_s)

    def wait(self, edition: int, timeout_s: float | None) -> None:
        """Wait until the situation is newer than `edition`, or `timeout_s` seconds have passed."""
        with self._changed:
            self._changed.wait_for(lambda: self.now.edition > edition, timeout_s)

    def rest(self, worked_s: float, *, processor_share: float) -> None:
        """Pause after `worked_s` seconds of work; any change of the situation ends the pause."""
        if processor_share < 1:
            self.wait(self.now.edition, worked_s * (1 / processor_share - 1))

    def is_offline(self) -> bool:
        """Whether the agent is to stop, or has no network that it may use."""
        return self.now.stopping or blocks_network(self.now.blockers)

    def _replace(self, **changes: Any) -> None:  # noqa: ANN401  # the fields of Now, passed through to msgspec
        with self._changed:
            changed = msgspec.structs.replace(self.now, **changes)
            if changed != self.now:
                self.now = msgspec.structs.replace(changed, edition=self.now.edition + 1)
                self._changed.notify_all()


def waits_for_window(left_s: float) -> Reason:
    """Why the device does not check in before so many seconds have passed."""
    sentence = f"the platform expects this device in {left_s:.0f} s, as it has told it before the agent started"
    return Reason(COMES_BACK, sentence)
