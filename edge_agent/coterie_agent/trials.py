"""A canary's part in a roll-out: compare the candidate with the champion, and report the outcome."""

import logging
from dataclasses import dataclass

from coterie_agent.blobs import BlobCache
from coterie_agent.errors import AgentError, reason_of
from coterie_agent.link.http import HttpLink
from coterie_agent.model import fetch_model, held_manifest
from coterie_agent.situation import Now, Situation
from coterie_agent.store.opened import Store
from coterie_wire.bundle import verify_manifest
from coterie_wire.errors import WireError
from coterie_wire.messages import Done
from coterie_wire.trial import ReportTrial, Trial

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Trials:
    """Trials, run by the worker; the latest outcome is remembered."""

    link: HttpLink
    store: Store
    blobs: BlobCache
    situation: Situation
    threads: int
    _fault: ReportTrial | None = None
    """The report to send of a candidate that turned out to be unusable before it was held."""
    _ended: str | None = None
    """The roll-out whose trial has ended on this device."""

    @property
    def newest(self) -> Trial | None:
        """The trial that the platform requests; None: there is none."""
        directive = self.situation.now.directive
        return directive.trial if directive else None

    def due(self, now: Now) -> Trial | None:
        """The trial that the device can finish now."""
        trial = now.directive.trial if now.directive else None
        if trial is None or trial.rollout == self._ended:
            return None
        failed = self._fault is not None and self._fault.rollout == trial.rollout
        return trial if failed or trial.candidate == now.version else None

    def record_fault(self, error: AgentError | WireError) -> None:
        """Have the next report say that the candidate is not usable."""
        trial = self.newest
        if trial is not None:
            self._fault = ReportTrial(rollout=trial.rollout, fault=reason_of(error))

    def end(self, trial: Trial) -> None:
        """Take no further part in it."""
        self._ended = trial.rollout

    def run(self, trial: Trial) -> None:
        """Report how the candidate compares with the champion, or why it cannot be used.

        Under a plan with secure sums only the latter is reported, as it reveals nothing of the device's samples.
        """
        report = self._fault
        if report is None or report.rollout != trial.rollout:
            if self.store.work.is_masked():
                log.info("the new version is not compared: figures of this device are told in sums alone")
                self.end(trial)
                return
            report = self._compared(trial)
        if report is None:
            return
        self.link.call(report, Done)
        self.end(trial)
        log.info("told the platform how the new version does: %s", "compared" if report.fault is None else "unusable")

    def _compared(self, trial: Trial) -> ReportTrial | None:
        """None if it was interrupted."""
        from coterie_agent.training.model import Model  # they load NumPy
        from coterie_agent.training.trial import run_trial

        champion = verify_manifest(trial.champion, *self.store.identity.trusted())
        if not fetch_model(champion, self.blobs, self.link.download, stop=self.must_not_compare):
            return None
        return run_trial(
            trial.rollout,
            champion=Model(champion, self.blobs),
            candidate=Model(held_manifest(self.store), self.blobs),
            samples=self.store.samples,
            threads=self.threads,
            stop=self.must_not_compare,
        )

    def must_not_compare(self) -> bool:
        """Whether the device has something else to do, or is not to use its processor."""
        now = self.situation.now
        directive = now.directive
        return now.stopping or bool(now.blockers) or directive is None or directive.assignment is not None
