"""When a device reports its profile, and when and for which classes it asks for help: Cartel, batch by batch."""

from typing import Annotated, Self

import msgspec
from msgspec import Meta

from coterie_learning.detectors import AnyDriftState
from coterie_learning.help import WatchRules
from coterie_learning.profile import ClassProfile, Counts, Int64, Whole, jensen_shannon


class Watch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state of a device's evaluation of its personal model; it can be stored and restored."""

    drift: AnyDriftState
    profile: ClassProfile
    reported: tuple[Whole, ...] = ()
    """Samples of each class in the profile that was last reported; empty: never."""
    batches_unreported: Whole = 0
    batches_quiet: Whole | None = None
    """Batches since the last help request; None: there was none."""
    batches_drifted: Annotated[int, Meta(ge=0)] | None = None
    """Batches since the detector last found drift; None: never, or too long ago to matter."""

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

    @property
    def drifting(self) -> bool:
        """Whether the detector found drift within the newest batches: such a device is not asked for help."""
        return self.batches_drifted is not None

    def recent(self, rules: WatchRules) -> Counts:
        """What a help request describes."""
        return self.profile.counts(rules.recent_batches)

    def metadata(self, rules: WatchRules) -> Counts:
        """The profile that a device reports."""
        return self.profile.counts(rules.window_batches)

    def asks_for(self, rules: WatchRules) -> tuple[int, ...]:
        """The classes that a device asks help for now; none where it does not ask."""
        resting = self.batches_quiet is not None and self.batches_quiet < rules.cool_down_batches
        if not self.drifting or resting:
            return ()
        return self.troubled(rules, samples=rules.troubled_samples)

    def troubled(self, rules: WatchRules, *, samples: int) -> tuple[int, ...]:
        """The classes of which the model finds far fewer than it usually finds of all samples.

        What is usual, the batches before the newest say: a model that has half of all samples right does not fail on a
        class of which it finds a quarter. Of a class there must be `samples` samples among the newest.
        """
        usual = 1 - self.profile.before(rules.recent_batches).error
        return self.recent(rules).troubled(below=rules.troubled_recall * usual, samples=samples)

    def asked(self) -> Self:
        """The state after a help request."""
        return msgspec.structs.replace(self, batches_quiet=0)

    def report_is_due(self, rules: WatchRules) -> bool:
        """Whether class shares have changed enough, or enough batches have passed, to report the profile again."""
        if not self.profile.batches:
            return False
        if not self.reported or self.batches_unreported >= rules.report_batches:
            return True
        now, before = self.metadata(rules), Counts.of_samples(self.reported)
        return jensen_shannon(now.prior(), before.prior()) > rules.prior_shift

    def reported_now(self, rules: WatchRules) -> Self:
        """The state after the profile was reported."""
        samples = tuple(self.metadata(rules).samples.tolist())
        return msgspec.structs.replace(self, reported=samples, batches_unreported=0)


def begin_watch(rules: WatchRules, classes: int) -> Watch:
    """The state for a model of `classes` classes, before any batch."""
    return Watch(drift=rules.detector.begin(), profile=ClassProfile(classes=classes, keep=rules.window_batches))
