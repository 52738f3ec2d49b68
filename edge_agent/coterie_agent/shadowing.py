"""The device's part in a shadow roll-out: the candidate predicts beside the held version, and is not shown."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from coterie_agent.blobs import BlobCache
from coterie_agent.config import Config
from coterie_agent.errors import AgentError, reason_of
from coterie_agent.link.failure import Refused
from coterie_agent.link.http import HttpLink
from coterie_agent.model import fetch_model, held_manifest, parts
from coterie_agent.situation import Now
from coterie_agent.store.opened import Store
from coterie_agent.store.shadow import Shadow
from coterie_wire.bundle import BlobRef, verify_manifest
from coterie_wire.errors import WireError
from coterie_wire.latency import MOST_REPORTED
from coterie_wire.messages import Done
from coterie_wire.trial import ReportTrial, Shadowed, ShadowTrial

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Shadowing:
    """The shadow roll-out, run by the worker."""

    config: Config
    store: Store
    blobs: BlobCache
    link: HttpLink
    must_stop: Callable[[], bool]
    """Whether measuring on samples must stop now."""
    _ended: str | None = None
    """The roll-out whose outcome this device has reported."""
    _fault: ReportTrial | None = None
    """The report of a candidate that cannot be used here."""

    def due(self, now: Now) -> ShadowTrial | None:
        """The roll-out that the worker must act on: its candidate is to be fetched, or its time is over."""
        trial = now.directive.shadow if now.directive else None
        if trial is None or trial.rollout == self._ended:
            return None
        held = self.store.shadow.load()
        is_there = held is not None and held.rollout == trial.rollout
        return trial if trial.remaining_s == 0 or not is_there else None

    def is_over(self, now: Now) -> bool:
        """Whether a candidate still answers that the platform no longer names."""
        if now.directive is None:
            return False
        trial, held = now.directive.shadow, self.store.shadow.load()
        return held is not None and (trial is None or trial.rollout != held.rollout)

    def parts(self) -> tuple[BlobRef, ...]:
        """The files of the shadow candidate."""
        held = self.store.shadow.load()
        return () if held is None else parts(verify_manifest(held.candidate, *self.store.identity.keys().pinned()))

    def run(self, trial: ShadowTrial) -> None:
        """Fetch the candidate and let it answer; once its time is over, report how it did.

        Under a plan with secure sums, the device reports only that a candidate cannot be used.
        Raises AgentError or WireError, to be passed to `give_up`, or the link's temporary errors.
        """
        report = self._fault
        if report is None or report.rollout != trial.rollout:
            held = self.store.shadow.load()
            if held is None or held.rollout != trial.rollout:
                self._take(trial)
                return
            if self.store.work.is_masked():
                log.info("how the candidate did is not told: figures of this device are told in sums alone")
                self._ended = trial.rollout
                return
            report = self._compared(trial)
        if report is None:
            return
        self.link.call(report, Done)
        self._ended = trial.rollout
        log.info("told the platform how a version does that answered beside the one in use")

    def give_up(self, trial: ShadowTrial, error: AgentError | WireError) -> None:
        """Report why the candidate cannot be used here; a report that the platform refuses is not repeated."""
        log.warning("the candidate cannot answer here: %s [%s]", error.detail, error.code)
        if isinstance(error, Refused) or self._fault is not None:
            self._ended = trial.rollout
        else:
            self._fault = ReportTrial(rollout=trial.rollout, fault=reason_of(error))

    def drop(self) -> None:
        """Stop the candidate; its files are removed when the next version is fetched, unless that needs them."""
        self.store.shadow.drop()

    def _take(self, trial: ShadowTrial) -> None:
        manifest = verify_manifest(trial.candidate, *self.store.identity.trusted())
        if fetch_model(manifest, self.blobs, self.link.download, stop=self.must_stop):
            self.store.shadow.hold(Shadow(trial.rollout, trial.candidate))
            log.info("version %d answers beside the one in use, without being shown", manifest.number)

    def _compared(self, trial: ShadowTrial) -> ReportTrial | None:
        """None if it was interrupted."""
        # Only here: NumPy and onnxruntime take 30 MB, and most devices are idle most of the time.
        from coterie_agent.training.model import Model
        from coterie_agent.training.trial import run_trial

        report = run_trial(
            trial.rollout,
            champion=Model(held_manifest(self.store), self.blobs),
            candidate=Model(verify_manifest(trial.candidate, *self.store.identity.trusted()), self.blobs),
            samples=self.store.samples,
            threads=self.config.threads,
            stop=self.must_stop,
        )
        beside = self.store.shadow.beside(trial.rollout)
        if report is None or report.compared is None or not beside.answers:
            return report
        shadowed = Shadowed(
            agreement=beside.agreed / beside.answers,
            champion=beside.champion.scaled(MOST_REPORTED),
            candidate=beside.candidate.scaled(MOST_REPORTED),
        )
        return ReportTrial(rollout=trial.rollout, compared=report.compared, shadowed=shadowed)
