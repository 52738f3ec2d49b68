"""Slot `rollout`: when do devices get a new version? One module a kind; pure functions of counts and figures."""

from typing import Literal, NamedTuple

from coterie_learning.kinds import Kind


class CanaryEvidence(NamedTuple):
    """The evidence from a canary group."""

    group: int
    """Devices of the current phase that have reported or still can, including absent ones."""
    reports: int
    """Reports of these devices."""
    needed: int
    """Reports needed to pass the phase."""
    total_reports: int
    """Reports in all phases so far."""
    faults: int
    """Reports in all phases of devices that could not use the candidate."""
    excess: float
    """Increase of the error of the candidate over the champion, as a mean over the devices that could use it."""
    elapsed_s: float
    """Seconds since the start of the phase, without `rested_s`."""
    phase: int = 0
    """Index of the current phase."""
    absent: int = 0
    """Devices of the group that have not reported and are not checking in."""
    rested_s: float = 0.0
    """Seconds for which the phase was paused to wait for absent devices."""

    def lacks_devices(self) -> bool:
        """Whether too few devices are present for the reports needed."""
        return self.reports < self.needed and self.absent > 0 and self.group - self.absent < self.needed


Verdict = Literal["wait", "rest", "pass", "worse", "unusable", "too_few_reports"]
"""`rest`: the phase is paused until absent devices are back. `pass`: the next phase begins, or after the
last the candidate is promoted. The last three roll back."""


class Rollout(Kind, frozen=True):
    """How a version made by a round reaches the devices of its federation."""

    def is_staged(self) -> bool:
        """Whether a canary group tries it first; where none does, the other methods are not called."""
        return False

    def group_tag(self) -> str:
        """Tag of the devices that the group is drawn from; blank: all."""
        raise NotImplementedError

    def phase_count(self) -> int:
        """Number of phases, each with more devices than the one before."""
        return 1

    def group_size(self, devices: int, phase: int = 0) -> int:
        """How many of the `devices`, present or not, try the candidate in a phase, earlier phases included."""
        raise NotImplementedError

    def reports_needed(self) -> int:
        """Reports needed to start or pass a phase that has this number of devices."""
        raise NotImplementedError

    def patience_s(self, phase: int = 0) -> float:
        """Seconds of a phase after which the candidate is judged by the reports received."""
        raise NotImplementedError

    def absence_s(self, phase: int = 0) -> float:
        """Further seconds for which a phase waits while too few of its devices are present."""
        raise NotImplementedError

    def shadow_s(self) -> float:
        """Seconds of shadow deployment, in which the candidate's predictions are not shown; 0: the group uses it."""
        return 0.0

    def verdict(self, standing: CanaryEvidence) -> Verdict:
        """The decision on the candidate."""
        raise NotImplementedError
