"""The device's part in federated evaluations: fetch a version, measure it on held-out samples, report the figures."""

import logging
from dataclasses import dataclass
from functools import partial

from coterie_agent.blobs import BlobCache
from coterie_agent.config import Config
from coterie_agent.errors import AgentError, reason_of
from coterie_agent.link.failure import Refused
from coterie_agent.link.http import HttpLink
from coterie_agent.model import fetch_model, parts
from coterie_agent.situation import Now, Situation
from coterie_agent.store.evaluating import Evaluating
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import Snapshot
from coterie_wire.bundle import Manifest, verify_manifest
from coterie_wire.errors import WireError
from coterie_wire.evaluating import Evaluate, ReportEvaluation
from coterie_wire.messages import Done

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Evaluations:
    """Federated evaluations, run by the worker; stopped at any moment, it resumes and reports the same figures."""

    config: Config
    store: Store
    blobs: BlobCache
    link: HttpLink
    situation: Situation
    _ended: str | None = None
    """The evaluation that has ended on this device."""

    def due(self, now: Now) -> Evaluate | None:
        """The evaluation that the platform requests by `now`."""
        evaluate = now.directive.evaluate if now.directive else None
        return None if evaluate is None or evaluate.evaluation == self._ended else evaluate

    def report_of(self, evaluate: Evaluate) -> ReportEvaluation | None:
        """The report to send; None: nothing was measured yet."""
        found = self.store.evaluating.load(evaluate.evaluation)
        return None if found is None else found.report

    def run(self, evaluate: Evaluate) -> None:
        """Measure while conditions allow it, and report the outcome once there is one.

        Raises AgentError or WireError, to be passed to `give_up`, or the link's temporary errors.
        """
        report = self.report_of(evaluate) or self._measured(evaluate)
        if report is None:
            return
        self.link.call(report, Done)
        self._end(evaluate)
        log.info("told the platform how a version does on samples held out")

    def give_up(self, evaluate: Evaluate, error: AgentError | WireError) -> None:
        """Report why the version cannot be measured here; a report that the platform refuses is not repeated."""
        log.warning("the version is not evaluated here: %s [%s]", error.detail, error.code)
        if isinstance(error, Refused):
            self._end(evaluate)
        else:
            self._keep(ReportEvaluation(evaluation=evaluate.evaluation, fault=reason_of(error)))

    def _measured(self, evaluate: Evaluate) -> ReportEvaluation | None:
        """The outcome, stored until the platform has it; None if it was interrupted."""
        # Only here: NumPy and onnxruntime take 30 MB, and most devices are idle most of the time.
        from coterie_agent.training.evaluating import evaluate_version
        from coterie_agent.training.model import Model

        if self.store.work.is_masked():
            detail = "its federation hides in a sum what devices measure, so that it tells no figures of its own"
            raise AgentError("evaluation.masked", detail)
        manifest = verify_manifest(evaluate.manifest, *self.store.identity.trusted())
        stop = partial(self._must_stop, evaluate)
        if not fetch_model(manifest, self.blobs, self.link.download, stop=stop):
            return None
        report = evaluate_version(
            evaluate.evaluation,
            model=Model(manifest, self.blobs),
            samples=self.store.samples,
            store=self.store.evaluating,
            threads=self.config.threads,
            checkpoint_s=self.config.checkpoint_s,
            stop=stop,
            rest=partial(self.situation.rest, processor_share=self.config.processor_share),
        )
        if report is not None:
            self._keep(report)
            self._remove(manifest)
        return report

    def _keep(self, report: ReportEvaluation) -> None:
        self.store.evaluating.save(Evaluating(report.evaluation, Snapshot(0, -1), 0, report=report))

    def _end(self, evaluate: Evaluate) -> None:
        self._ended = evaluate.evaluation
        self.store.evaluating.delete()

    def _remove(self, manifest: Manifest) -> None:
        """Remove the files that the version alone needs, where the device holds another one."""
        held = self.store.work.held_model()
        if held is None:
            return
        directive = self.situation.now.directive
        trial = None if directive is None else directive.trial
        shadow = self.store.shadow.load()
        beside = (None if trial is None else trial.champion, None if shadow is None else shadow.candidate)
        needed = [held, *(signed for signed in beside if signed is not None)]
        known = self.store.identity.keys().pinned()
        kept = {ref for signed in needed for ref in parts(verify_manifest(signed, *known))}
        self.blobs.remove(ref for ref in parts(manifest) if ref not in kept)

    def _must_stop(self, evaluate: Evaluate) -> bool:
        now = self.situation.now
        directive = now.directive
        assigned = None if directive is None else directive.assignment
        has_work = assigned is not None and not self.store.work.is_finished(assigned.assignment)
        due = self.due(now)
        is_due = due is not None and due.evaluation == evaluate.evaluation
        return now.stopping or bool(now.blockers) or has_work or not is_due
