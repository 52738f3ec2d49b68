"""When a device reports its profile, and when and for which classes it asks for help, batch by batch (Cartel)."""

from typing import Annotated, NamedTuple, Self

import msgspec
import numpy as np
from msgspec import Meta

from coterie_learning.detectors import AnyDriftState
from coterie_learning.help import WatchRules
from coterie_learning.prediction_counts import PredictionCounts
from coterie_learning.profile import ClassProfile, Counts, Int64, Whole, jensen_shannon
from coterie_learning.profile_noise import noised
from coterie_learning.unlabelled import Unlabelled, observe_unlabelled


class Request(NamedTuple):
    """The content of a help request."""

    classes: tuple[int, ...]
    """Classes that it needs help with; empty where noise hides them."""
    counts: Counts
    """Counts of its newest batches."""


class DriftWatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state of a device's evaluation of its personal model; it can be stored and restored."""

    drift: AnyDriftState
    profile: ClassProfile
    reported: tuple[Whole, ...] = ()
    """Samples of each class in the last reported profile, as reported; empty: never."""
    reported_wrong: tuple[Whole, ...] = ()
    """How many of them were reported as wrongly predicted."""
    batches_unreported: Whole = 0
    batches_quiet: Whole | None = None
    """Batches since the last help request; None: there was none."""
    batches_drifted: Annotated[int, Meta(ge=0)] | None = None
    """Batches since the detector last found drift; None: never, or too long ago to matter."""
    unlabelled: Unlabelled | None = None
    """Drift detection on predictions; None: none were counted."""

    def observe(self, rules: WatchRules, labels: Int64, predicted: Int64) -> Self:
        """The state after a batch of true `labels` [n], `predicted` [n] by the model before it trains on the batch.

        Raises ValueError for an empty batch or labels outside the classes.
        """
        profile = self.profile.observe(labels, predicted)
        state = self.drift if self.drift.settings == rules.detector else rules.detector.begin()
        observed = state.observe(int((labels != predicted).sum()), len(labels))
        quiet, drifted = self.batches_quiet, self.batches_drifted
        if observed.drifted:
            drifted = 0
        elif drifted is not None:
            drifted = drifted + 1 if drifted + 1 < rules.recent_batches else None
        return msgspec.structs.replace(
            self,
            drift=observed.state,
            profile=profile,
            batches_unreported=self.batches_unreported + 1,
            batches_quiet=None if quiet is None else quiet + 1,
            batches_drifted=drifted,
        )

    def predicted(self, rules: WatchRules, seen: PredictionCounts) -> Self:
        """The state after predictions for unlabelled samples."""
        return msgspec.structs.replace(self, unlabelled=observe_unlabelled(self.unlabelled, rules, seen))

    @property
    def drifting(self) -> bool:
        """Whether the detector found drift within the newest batches: such a device is not asked for help.

        Drift on labelled samples or on predictions.
        """
        return self.batches_drifted is not None or (
            self.unlabelled is not None and self.unlabelled.groups_drifted is not None
        )

    def recent(self, rules: WatchRules) -> Counts:
        """The counts for a help request."""
        return self.profile.counts(rules.recent_batches)

    def metadata(self, rules: WatchRules) -> Counts:
        """The counts of the profile that a device reports."""
        return self.profile.counts(rules.window_batches)

    def asks_for(self, rules: WatchRules) -> tuple[int, ...]:
        """The classes that a device asks help for now; empty where it does not ask."""
        resting = self.batches_quiet is not None and self.batches_quiet < rules.cool_down_batches
        if not self.drifting or resting:
            return ()
        return self.troubled(rules, samples=rules.troubled_samples)

    def troubled(self, rules: WatchRules, *, samples: int) -> tuple[int, ...]:
        """The classes with a recall far below the model's usual accuracy.

        The usual accuracy is that of the batches before the newest: a model that is right on half of all samples does
        not fail on a class with a recall of a quarter. A class must have `samples` samples in the newest batches.
        """
        usual = 1 - self.profile.before(rules.recent_batches).error
        return self.recent(rules).troubled(below=rules.troubled_recall * usual, samples=samples)

    def request(self, rules: WatchRules, key: bytes) -> Request:
        """The content of a help request.

        With noise, drawn from the secret `key`, the classes are computed from the noised counts of the request and of
        the last report.
        """
        counts = self.recent(rules)
        if not rules.noise_multiplier:
            return Request(self.asks_for(rules), counts)
        counts = noised(counts, rules.noise_multiplier, key)
        below = rules.troubled_recall * (1 - self._last_reported().error)
        return Request(counts.troubled(below=below, samples=rules.troubled_samples), counts)

    def after_request(self) -> Self:
        """The state after a help request, or after one that noise left empty."""
        return msgspec.structs.replace(self, batches_quiet=0)

    def report_is_due(self, rules: WatchRules) -> bool:
        """Whether class shares have changed enough, or enough batches have passed, to report the profile again."""
        if not self.profile.batches:
            return False
        if not self.reported or self.batches_unreported >= rules.report_batches:
            return True
        if rules.noise_multiplier:
            return False
        now, before = self.metadata(rules), self._last_reported()
        return jensen_shannon(now.prior(), before.prior()) > rules.prior_shift

    def report(self, rules: WatchRules, key: bytes) -> tuple[Counts, Self]:
        """The content of a report, and the state after it.

        With noise, drawn from the secret `key`, the last report is repeated until a new one is due.
        """
        counts = self.metadata(rules)
        if rules.noise_multiplier:
            if not self.report_is_due(rules):
                return self._last_reported(), self
            counts = noised(counts, rules.noise_multiplier, key)
        samples, wrong = tuple(counts.samples.tolist()), tuple(counts.wrong.tolist())
        return counts, msgspec.structs.replace(self, reported=samples, reported_wrong=wrong, batches_unreported=0)

    def _last_reported(self) -> Counts:
        samples = np.array(self.reported, np.int64)
        wrong = np.array(self.reported_wrong, np.int64) if self.reported_wrong else np.zeros_like(samples)
        return Counts(samples, wrong)


def begin_watch(rules: WatchRules, classes: int) -> DriftWatch:
    """The state for a model of `classes` classes, before any batch."""
    return DriftWatch(drift=rules.detector.begin(), profile=ClassProfile(classes=classes, keep=rules.window_batches))
