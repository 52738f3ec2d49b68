"""Slot `rollout`: when does every device get a new version? One module a kind; pure functions of counts and figures."""

from typing import Literal, NamedTuple

from coterie_learning.kinds import Kind


class CanaryEvidence(NamedTuple):
    """How a canary group stands."""

    group: int
    """Devices of the present phase that have reported or still can, the absent among them."""
    reports: int
    """Of those."""
    needed: int
    """Reports of those without which the phase is not passed."""
    told: int
    """Reports of all phases so far."""
    faults: int
    """Reports among these of devices that could not use the candidate."""
    excess: float
    """By how much more the candidate is wrong than the champion, on the mean of the devices that could use it."""
    elapsed_s: float
    """Since the phase has begun, without `rested_s`."""
    phase: int = 0
    """Place of the present phase."""
    absent: int = 0
    """Devices of the group that have not reported and do not check in now."""
    rested_s: float = 0.0
    """For which the phase has waited for absent devices."""

    def lacks_devices(self) -> bool:
        """Whether the reports that are needed cannot come before absent devices are back."""
        return self.reports < self.needed and self.absent > 0 and self.group - self.absent < self.needed


Verdict = Literal["wait", "rest", "pass", "worse", "unusable", "too_few_reports"]
"""`rest`: the time of the phase stands still until absent devices are back. `pass`: the next phase begins, or after the
last the candidate is promoted. The last three roll back."""


class Rollout(Kind, frozen=True):
    """How a version that a round has made comes to the devices of its federation."""

    def is_staged(self) -> bool:
        """Whether a canary group tries it first; where none does, nothing else is asked of the kind."""
        return False

    def group_tag(self) -> str:
        """Tag of the devices that the group is drawn from; blank: of all."""
        raise NotImplementedError

    def phase_count(self) -> int:
        """In how many phases, of more devices each, it is tried."""
        return 1

    def group_size(self, devices: int, phase: int = 0) -> int:
        """How many of the `devices`, present or not, try the candidate in a phase, those of phases before included."""
        raise NotImplementedError

    def reports_needed(self) -> int:
        """Reports without which no phase is passed, where it has so many devices, and without which none begins."""
        raise NotImplementedError

    def patience_s(self, phase: int = 0) -> float:
        """Seconds of a phase after which the candidate is judged by whatever has been reported."""
        raise NotImplementedError

    def absence_s(self, phase: int = 0) -> float:
        """Seconds for which a phase waits, beside those, while too few of its devices are there."""
        raise NotImplementedError

    def shadow_s(self) -> float:
        """Seconds that the candidate answers beside the champion without being shown; 0: the group uses it."""
        return 0.0

    def verdict(self, standing: CanaryEvidence) -> Verdict:
        """What becomes of the candidate."""
        raise NotImplementedError
