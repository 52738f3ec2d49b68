"""The Page-Hinkley test for a rise of the mean (Page 1954, doi 10.2307/2333009)."""

from typing import Annotated

from msgspec import Meta

from coterie_learning.drift import Detector, DriftState, Observed, error_rate


class PageHinkley(Detector, frozen=True, tag="page_hinkley"):
    """Drift is a sum of errors beyond the mean so far and `slack` that exceeds `threshold`; the test then restarts."""

    slack: Annotated[float, Meta(ge=0, le=1, description="rise of the error rate that is tolerated for ever")] = 0.01
    threshold: Annotated[
        float, Meta(gt=0, le=1e6, description="wrong predictions, in samples, more than were to be expected")
    ] = 20.0

    def begin(self) -> "PageHinkleyState":
        return PageHinkleyState(self)


class PageHinkleyState(DriftState, frozen=True, tag="page_hinkley"):
    """The mean so far, and how far the sum has risen above its lowest point."""

    settings: PageHinkley
    samples: int = 0
    wrong: int = 0
    risen: float = 0.0
    """Samples."""

    def observe(self, wrong: int, samples: int) -> Observed:
        error = error_rate(wrong, samples)
        all_samples, all_wrong = self.samples + samples, self.wrong + wrong
        risen = max(0.0, self.risen + samples * (error - all_wrong / all_samples - self.settings.slack))
        if risen > self.settings.threshold:
            return Observed(self.settings.begin(), drifted=True)
        return Observed(PageHinkleyState(self.settings, all_samples, all_wrong, risen), drifted=False)
