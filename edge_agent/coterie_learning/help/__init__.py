"""Slot `help`: who helps a device whose model fails? One module a kind.

A kind gives the rules that devices and the platform go by. What they do by these rules (watch, match, send, judge) is
the same whatever the kind.
"""

from typing import Protocol

from coterie_learning.detectors import AnyDetector
from coterie_learning.kinds import Kind
from coterie_learning.portions.rules import PortionRules


class WatchRules(Protocol):
    """How a device evaluates its personal model batch by batch, what it reports of its data, and when it asks."""

    @property
    def detector(self) -> AnyDetector:
        """How it tells that its model has begun to fail."""

    @property
    def cool_down_batches(self) -> int:
        """Batches after a help request in which it makes no other."""

    @property
    def recent_batches(self) -> int:
        """Newest batches that a request describes and that a portion is judged on."""

    @property
    def window_batches(self) -> int:
        """Newest batches that its profile describes."""

    @property
    def prior_shift(self) -> float:
        """Jensen-Shannon divergence, in bits, by which class shares move before they are told."""

    @property
    def report_batches(self) -> int:
        """Batches after which its profile is told even if nothing moved."""

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of the noise on each count that leaves the device, in times √2; 0: none. With noise,
        profiles are told every `report_batches` alone, since when class shares move would tell, too."""

    @property
    def troubled_recall(self) -> float:
        """Share of a class's samples found, below which the device asks for help with the class: for a model that
        usually has all samples right, and lower in proportion for one that does not."""

    @property
    def troubled_samples(self) -> int:
        """Fewest recent samples of a class before it asks for help with it."""


class MatchRules(Protocol):
    """Who may help, how many are asked in turn, and how long each step may take."""

    @property
    def largest_divergence(self) -> float:
        """Jensen-Shannon divergence of class shares, in bits, up to which devices are neighbours."""

    @property
    def helper_recall(self) -> float:
        """Least share that a helper finds of each class that help is asked for; more than the device that asks."""

    @property
    def helper_error(self) -> float:
        """Largest error rate of a helper over all classes; not above that of the device that asks."""

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
    """All that devices and the platform go by where devices help each other."""


class Help(Kind, frozen=True):
    """How devices ask each other for help."""

    def rules(self) -> HelpRules | None:
        """What devices that help each other go by; None: they do not."""
        return None
