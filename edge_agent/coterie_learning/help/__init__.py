"""Slot `help`: who helps a device whose model fails? One module a kind.

A kind provides rules for devices and the platform. The protocol (watch, match, send, judge) is the same for every kind.
"""

from typing import Protocol

from coterie_learning.detectors import AnyDetector
from coterie_learning.kinds import Kind
from coterie_learning.portions.rules import PortionRules


class WatchRules(Protocol):
    """How a device evaluates its personal model batch by batch, what it reports, and when it asks for help."""

    @property
    def detector(self) -> AnyDetector:
        """The drift detector by which it notices that its model fails."""

    @property
    def cool_down_batches(self) -> int:
        """Batches after a help request during which it makes no other."""

    @property
    def recent_batches(self) -> int:
        """Newest batches that a request describes and that a portion is judged on."""

    @property
    def window_batches(self) -> int:
        """Newest batches that its profile describes."""

    @property
    def prior_shift(self) -> float:
        """Jensen-Shannon divergence of class shares from the last report, in bits, that triggers a new report."""

    @property
    def report_batches(self) -> int:
        """Batches after which its profile is reported even if nothing has changed."""

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation, divided by √2, of the noise on each count that leaves the device; 0: none. With noise,
        profiles are reported only every `report_batches`, since the time of an extra report would reveal a change."""

    @property
    def troubled_recall(self) -> float:
        """Recall of a class below which the device asks for help with it. It applies to a model that usually predicts
        all samples correctly, and is lower in proportion for one that does not."""

    @property
    def troubled_samples(self) -> int:
        """Fewest recent samples of a class before it asks for help with it."""


class MatchRules(Protocol):
    """Which devices may help, how many are asked in turn, and how long each step may take."""

    @property
    def largest_divergence(self) -> float:
        """Jensen-Shannon divergence of class shares, in bits, up to which devices are neighbours."""

    @property
    def helper_recall(self) -> float:
        """Least recall of a helper for each requested class; it must also exceed that of the requesting device."""

    @property
    def helper_error(self) -> float:
        """Largest error rate of a helper over all classes; also at most that of the requesting device."""

    @property
    def serves_at_once(self) -> int:
        """Requests that one helper serves at the same time."""

    @property
    def neighbours_tried(self) -> int:
        """Helpers asked in turn before a request is given up."""

    @property
    def match_s(self) -> float:
        """Seconds in which a helper must be found."""

    @property
    def deliver_s(self) -> float:
        """Seconds in which a helper must deliver its portion."""

    @property
    def judge_s(self) -> float:
        """Seconds in which the portion must be fetched, merged and judged."""


class HelpRules(WatchRules, MatchRules, PortionRules, Protocol):
    """All rules for devices and the platform where devices help each other."""


class Help(Kind, frozen=True):
    """How devices ask each other for help."""

    def rules(self) -> HelpRules | None:
        """The rules by which devices help each other; None: they do not."""
        return None
