"""Carries out the agent's actions, one at a time: accept, train, upload, drop, fetch."""

import logging
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from coterie_agent.blobs import BlobCache
from coterie_agent.config import Config
from coterie_agent.decide import Accept, Action, Compare, Drop, Facts, Fetch, Rest, TakeForms, Train, Upload, decide
from coterie_agent.errors import AgentError, reason_of
from coterie_agent.gossip.calling import PeerCalls
from coterie_agent.gossip.desk import Desk
from coterie_agent.handing_over import HandingOver, NeighbourRefused
from coterie_agent.link.backoff import Backoff
from coterie_agent.link.failure import Refused, Unreachable, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_agent.model import fetch_model, held_manifest, parts
from coterie_agent.situation import Now, Situation
from coterie_agent.store.database import StoreFailed
from coterie_agent.store.identity import Identity
from coterie_agent.store.opened import Store
from coterie_agent.store.work import Outcome
from coterie_agent.training.halt import Halt
from coterie_agent.upload import Delivery
from coterie_agent.variants import take_forms
from coterie_wire.bundle import BlobRef, Difference, Manifest, SignedManifest, verify_manifest
from coterie_wire.errors import WireError
from coterie_wire.meeting import Gathering
from coterie_wire.messages import Assignment, Done, OfferUpdate, Progress, ReleaseAssignment, UploadState
from coterie_wire.relaying import HandIn, Route, SignedReceipt
from coterie_wire.secure_sum import SumNews
from coterie_wire.trial import ReportTrial, Trial
from coterie_wire.variants import digest_of

if TYPE_CHECKING:  # they load NumPy
    from coterie_agent.training.assignment import Training
    from coterie_agent.training.teaching import Teaching
    from coterie_learning.device_plan import DevicePlan
    from coterie_learning.privacy import Masking
    from coterie_learning.teacher import Teacher

log = logging.getLogger(__name__)
Stage = Literal["accepted", "training", "waiting", "uploading"]
_PROGRESS_S = 0.5
_LONGEST_MARGIN_S = 2.0
_CLOSED = "rounds.assignment_closed"
"""The platform's final no to an update that came too late: none of the device's counts in the round."""
_TRIES = 6
"""How often a supernode is tried before the update goes to the platform."""
_ROUTE_ENDED = "rounds.route_ended"
Ended = Literal["accepted", "stopped"] | Refused
"""How a delivery ends."""


@dataclass(kw_only=True)
class Worker:
    """The thread that does the work. It decides by the situation and the store, so it can be stopped at any moment."""

    identity: Identity
    config: Config
    store: Store
    blobs: BlobCache
    variants: BlobCache
    """Graphs of smaller forms."""
    link: HttpLink
    situation: Situation
    peer_secret: bytes
    record_sent: Callable[[str, int], None]
    desk: Desk | None = None
    """Where the owner lets the device meet its peers."""
    rng: random.Random = field(default_factory=random.SystemRandom)
    _backoff: Backoff = field(default_factory=Backoff)
    _refused: SignedManifest | None = None
    """A champion that turned out to be unusable; it is not fetched again."""
    _bad_forms: SignedManifest | None = None
    """A list of smaller forms that cannot be used; it is not tried again."""
    _fault: ReportTrial | None = None
    """The report to send of a candidate that turned out to be unusable before it was held."""
    _tried: str | None = None
    """The roll-out whose trial has ended on this device."""
    _reported_at: float = 0.0
    _held: tuple[str, int | None] | None = None
    """The assignment whose update a supernode holds, and the epoch of its route."""
    _away: tuple[tuple[str, int | None], int] | None = None
    """The same of one that a supernode did not take, and how often it has not."""

    def run(self) -> None:
        """Run until the situation's `stop` is set."""
        while not (now := self.situation.now).stopping:
            facts = self._facts(now)
            action = decide(facts)
            if isinstance(action, Rest):
                if facts.in_hand is not None:
                    self._report(facts.in_hand, "uploading" if facts.spooled else "waiting")
                self.situation.wait(now.edition, None)
            else:
                self._attempt(action)

    def _facts(self, now: Now) -> Facts:
        in_hand = self.store.work.current()
        directive = now.directive
        assigned = directive.assignment if directive else None
        if assigned is not None and self.store.work.is_finished(assigned.assignment):
            assigned = None
        champion = directive.manifest if directive else None
        if champion == self._refused or (now.version is not None and champion == self.store.work.held_model()):
            champion = None
        return Facts(
            in_hand=in_hand,
            spooled=in_hand is not None and self.store.work.offer() is not None,
            answered=directive is not None,
            assigned=assigned,
            champion=champion,
            blockers=now.blockers,
            is_held=in_hand is not None and self._held == (in_hand.assignment, _epoch(assigned)),
            trial=self._due_trial(now),
            forms=self._new_forms(now),
        )

    def _due_trial(self, now: Now) -> Trial | None:
        """The trial that the device can finish now."""
        trial = now.directive.trial if now.directive else None
        if trial is None or trial.rollout == self._tried:
            return None
        failed = self._fault is not None and self._fault.rollout == trial.rollout
        return trial if failed or trial.candidate == now.version else None

    def _new_forms(self, now: Now) -> SignedManifest | None:
        forms = now.directive.variants if now.directive else None
        if forms is None or now.version is None or forms == self._bad_forms or digest_of(forms) == now.forms:
            return None
        return forms

    def _attempt(self, action: Action) -> None:
        try:
            self._perform(action)
            self._backoff = Backoff()
        except StoreFailed as error:
            if not is_retryable(error):
                raise  # not caused by the assignment, and the store could not record it
            self._wait_out(error)
        except (AgentError, WireError) as error:
            if isinstance(error, Refused) and error.is_revoked:
                self.situation.end(error)
            elif isinstance(error, AgentError) and (is_retryable(error) or _can_wait(action, error)):
                self._wait_out(error)
            elif isinstance(action, Train | Upload | Drop):
                self._release(action.assignment, error)
            elif isinstance(action, Fetch):
                log.error("the platform's newest version is not usable: %s [%s]", error.detail, error.code)
                self._refused = action.champion
                trial = self._trial()
                if trial is not None:
                    self._fault = ReportTrial(rollout=trial.rollout, fault=reason_of(error))
            elif isinstance(action, TakeForms):
                log.warning("no smaller form of the model is used: %s [%s]", error.detail, error.code)
                self._bad_forms = action.forms
            elif isinstance(action, Compare):
                log.warning("the candidate cannot be compared here: %s [%s]", error.detail, error.code)
                self._tried = action.trial.rollout

    def _perform(self, action: Action) -> None:
        if isinstance(action, Accept):
            self.store.work.accept(action.assignment, is_masked=_is_masked(action.assignment))
            log.info("accepted round %d of %s", action.assignment.round, action.assignment.federation)
            self._report(action.assignment, "accepted")
        elif isinstance(action, Train):
            self._train(action.assignment)
        elif isinstance(action, Upload):
            self._upload(action.assignment)
        elif isinstance(action, Drop):
            self._finish(action.assignment, "dropped", "the platform has taken the assignment back")
        elif isinstance(action, Fetch):
            trial = self._trial()
            # The champion stays beside a candidate: for comparison, and for use after a rollback.
            kept = () if trial is None else parts(verify_manifest(trial.champion, self.identity.platform_key))
            self._fetch(action.champion, stop=self.situation.is_offline, also=kept, difference=self._difference())
        elif isinstance(action, Compare):
            self._compare(action.trial)
        elif isinstance(action, TakeForms):
            self._take_forms(action.forms)

    def _train(self, assignment: Assignment) -> None:
        # Only here: NumPy and onnxruntime take 30 MB, and most devices are idle most of the time.
        from coterie_agent.training.assignment import Training
        from coterie_agent.training.model import Model
        from coterie_agent.training.teaching import parts_of
        from coterie_agent.training.turns import check_turn

        plan = _plan_of(assignment)
        check_turn(assignment, plan.privacy, self.store.work)
        teacher = self._teacher(assignment, plan)
        kept = () if teacher is None else parts_of(teacher)
        manifest = self._fetch(
            assignment.manifest,
            stop=partial(self._must_pause, assignment),
            also=kept,
            difference=assignment.difference,
        )
        if manifest is None:
            return
        self._report(assignment, "training")
        training = Training(
            assignment=assignment,
            plan=plan,
            model=Model(manifest, self.blobs),
            store=self.store,
            threads=self.config.threads,
            checkpoint_s=self.config.checkpoint_s,
            halt=partial(self._halt, assignment),
            report=partial(self._report_steps, assignment),
            rest=partial(self.situation.rest, processor_share=self.config.processor_share),
            teaching=None if teacher is None else self._teaching(assignment, manifest, teacher),
        )
        done = self._gossip(training, assignment.gathering, self.desk) or training.run
        if done():
            self._report(assignment, "uploading")
        else:
            log.info("training of round %d pauses", assignment.round)
            self._report(assignment, "waiting")

    def _gossip(
        self, training: "Training", gathering: Gathering | None, desk: Desk | None
    ) -> Callable[[], bool] | None:
        """How the assignment is done with the other devices of the round; None: by this device alone."""
        if gathering is None or desk is None:
            return None
        from coterie_agent.gossip.training import GossipTraining

        wanted = training.assignment.assignment

        def newest() -> Gathering:
            directive = self.situation.now.directive
            told = directive.assignment if directive else None
            if told is not None and told.assignment == wanted and told.gathering is not None:
                return told.gathering
            stored = self.store.meetings.load()
            return gathering if stored is None else stored[0].gathering

        return GossipTraining(
            training=training,
            gathering=newest,
            desk=desk,
            open_calls=lambda roster: PeerCalls(
                device=self.identity.device,
                secret=self.peer_secret,
                round_=roster.round,
                record_sent=self.record_sent,
            ),
            wait=lambda at_most_s: self.situation.wait(self.situation.now.edition, at_most_s),
        ).run

    def _teacher(self, assignment: Assignment, plan: "DevicePlan") -> "Teacher | None":
        """The teacher that the plan asks for. Raises WireError ``bundle.*``, or AgentError ``data.no_teacher``."""
        from coterie_learning.teacher import verify_teacher

        if not plan.local.needs_teacher():
            return None
        if assignment.teacher is None:
            raise AgentError("data.no_teacher", "the plan learns from the cloud model, and the platform named none")
        return verify_teacher(assignment.teacher, self.identity.platform_key)

    def _teaching(self, assignment: Assignment, manifest: Manifest, teacher: "Teacher") -> "Teaching":
        from coterie_agent.training.teaching import Teaching, parts_of

        stop = partial(self._must_pause, assignment)
        return Teaching(
            teacher=teacher,
            model=manifest.model,
            blobs=self.blobs,
            samples=self.store.samples,
            store=self.store.teaching,
            fetch=lambda: all(self.blobs.fetch(ref, self.link.download, stop=stop) for ref in parts_of(teacher)),
            own_parts=parts(manifest),
            spare_bytes=self.config.spare_bytes,
            threads=self.config.threads,
        )

    def _upload(self, assignment: Assignment) -> None:
        offer = self.store.work.offer()
        if offer is None:
            return  # the disk has damaged it since decide() saw it
        plan = _plan_of(assignment)
        masking = plan.privacy.masking()
        if masking is None:
            self._deliver(assignment, offer)
        else:
            self._sum(assignment, offer, plan, masking)

    def _deliver(self, assignment: Assignment, offer: OfferUpdate) -> None:
        """Bring the update to the platform, as it is."""
        if not self.store.work.is_sound(offer):
            self.store.work.forget_update()
            return
        self._report(assignment, "uploading")
        started = time.monotonic()
        route = self._route(assignment)
        outcome = None if route is None else self._hand_over(assignment, offer, route)
        if outcome is None:
            outcome = Delivery(
                link=self.link, offer=offer, read=self.store.work.read_payload, chunk_bytes=self.config.chunk_bytes
            ).run(stop=self.situation.is_offline)
        if outcome == "accepted":
            self.store.journal.measure("upload_s", time.monotonic() - started)
            self._finish(assignment, "accepted", f"update of {offer.size_bytes} bytes accepted")
        elif isinstance(outcome, Refused):
            self._finish(assignment, "dropped", outcome.detail, is_uncounted=outcome.code == _CLOSED)

    def _sum(self, assignment: Assignment, offer: OfferUpdate, plan: "DevicePlan", masking: "Masking") -> None:
        """Bring the update, and what was measured, into a sum in which nobody can read it."""
        from coterie_agent.secure_sum import SecureSum
        from coterie_agent.training.contribution import Contribution
        from coterie_agent.training.model import Model

        manifest = self._fetch(assignment.manifest, stop=self.situation.is_offline)
        if manifest is None:
            return
        self._report(assignment, "uploading")
        ended = SecureSum(
            assignment=assignment.assignment,
            device=self.identity.device,
            identity=self.store.identity.key(),
            terms=masking.terms,
            vector=Contribution(
                assignment=assignment,
                plan=plan,
                masking=masking,
                model=Model(manifest, self.blobs),
                work=self.store.work,
                offer=offer,
            ).vector,
            link=self.link,
            store=self.store.secure_sum,
            log=self.store.identity_log,
            situation=self.situation,
            chunk_bytes=self.config.chunk_bytes,
        ).run()
        if isinstance(ended, Refused):
            self._finish(assignment, "dropped", ended.detail)
        elif isinstance(ended, SumNews):
            if ended.to_do == "counted":
                self._finish(assignment, "accepted", "the update is in a secure sum, in which nobody can read it")
            else:
                why = "the secure sum ended without the update" if ended.reason is None else ended.reason.sentence
                self._finish(assignment, "dropped", why)

    def _route(self, assignment: Assignment) -> Route | None:
        """The supernode that the update goes to by now, unless it did not take it."""
        assigned = self.situation.now.directive.assignment if self.situation.now.directive else None
        if assigned is None or assigned.assignment != assignment.assignment or assigned.route is None:
            return None
        way = (assignment.assignment, assigned.route.epoch)
        has_tried = self._away is not None and self._away[0] == way and self._away[1] >= _TRIES
        return None if has_tried else assigned.route

    def _hand_over(self, assignment: Assignment, offer: OfferUpdate, route: Route) -> Literal["held"] | Ended | None:
        """Hand the update to a supernode, and its receipt to the platform; None: it goes to the platform itself.

        Raises Unreachable where the platform does not answer, or the supernode does not and may yet.
        """
        from coterie_agent.training.vouching import fingerprint_of

        way = (assignment.assignment, route.epoch)
        try:
            state = self.link.call(offer, UploadState)
            if state.accepted:
                return "accepted"
            if state.held != route.epoch:
                receipt = self._receipt(way, offer, route)
                if receipt is None:
                    return None if self._has_given_up(way) else "stopped"
                payload = self.store.work.read_payload(0, offer.size_bytes)
                found = fingerprint_of(assignment, payload, offer, route, receipt, self.identity.platform_key)
                if found is None:
                    log.warning("the receipt of the supernode is not for this update, which goes to the platform")
                    self._away = (way, _TRIES)
                    return None
                hand_in = HandIn(assignment=assignment.assignment, receipt=receipt, fingerprint=found)
                self.link.call(hand_in, UploadState)
        except Refused as refusal:
            if refusal.code == _ROUTE_ENDED:
                self.situation.wake()
                raise Unreachable(refusal.detail) from refusal
            if refusal.is_revoked or is_retryable(refusal):
                raise
            return refusal
        log.info("a neighbour holds the update until the round is merged")
        self._held = way
        return "held"

    def _receipt(self, way: tuple[str, int], offer: OfferUpdate, route: Route) -> SignedReceipt | None:
        """That of the supernode; None if the agent is to stop, or has asked often enough. Raises Unreachable."""
        try:
            return HandingOver(
                route=route,
                offer=offer,
                read=self.store.work.read_payload,
                secret=self.peer_secret,
                chunk_bytes=self.config.chunk_bytes,
                record_sent=self.record_sent,
            ).run(stop=self.situation.is_offline)
        except (Unreachable, NeighbourRefused) as error:
            tries = self._away[1] + 1 if self._away is not None and self._away[0] == way else 1
            self._away = (way, tries)
            if tries >= _TRIES:
                log.warning("%s; the update goes to the platform", error.detail)
                return None
            raise Unreachable(error.detail) from error

    def _has_given_up(self, way: tuple[str, int]) -> bool:
        return self._away is not None and self._away == (way, _TRIES)

    def _fetch(
        self,
        signed: SignedManifest,
        *,
        stop: Callable[[], bool],
        also: Iterable[BlobRef] = (),
        difference: Difference | None = None,
    ) -> Manifest | None:
        """Download the version that `signed` names, or a `difference` to it; None if `stop` returned true before.

        Files of other versions are removed, except those of `also`.
        """
        manifest = verify_manifest(signed, self.identity.platform_key)
        if not fetch_model(manifest, self.blobs, self.link.download, stop=stop, difference=difference):
            return None
        if self.situation.now.version != manifest.version:
            self.store.work.hold_model(signed)
            self.blobs.keep_only((*parts(manifest), *also))
            self.situation.hold(manifest.version, manifest.model)
            log.info("holds version %d of %s", manifest.number, manifest.pair)
        return manifest

    def _difference(self) -> Difference | None:
        directive = self.situation.now.directive
        return directive.difference if directive else None

    def _take_forms(self, signed: SignedManifest) -> None:
        known = take_forms(
            signed,
            held_manifest(self.store),
            platform_key=self.identity.platform_key,
            blobs=self.blobs,
            variants=self.variants,
            download=self.link.download,
            threads=self.config.serving.threads,
            within_s=self.config.serving.run_ms / 1000,
            stop=self.situation.is_offline,
        )
        if known is not None:
            self.store.variants.keep(known)
            self.situation.know_forms(known.digest)

    def _trial(self) -> Trial | None:
        directive = self.situation.now.directive
        return directive.trial if directive else None

    def _compare(self, trial: Trial) -> None:
        """Report how the candidate compares with the champion, or why it cannot be used."""
        report = self._fault
        if report is None or report.rollout != trial.rollout:
            report = self._compared(trial)
        if report is None:
            return
        self.link.call(report, Done)
        self._tried = trial.rollout
        log.info("told the platform how the new version does: %s", "compared" if report.fault is None else "unusable")

    def _compared(self, trial: Trial) -> ReportTrial | None:
        """None if it was interrupted."""
        from coterie_agent.training.model import Model
        from coterie_agent.training.trial import run_trial

        champion = verify_manifest(trial.champion, self.identity.platform_key)
        if not fetch_model(champion, self.blobs, self.link.download, stop=self._may_not_compare):
            return None
        return run_trial(
            trial.rollout,
            champion=Model(champion, self.blobs),
            candidate=Model(held_manifest(self.store), self.blobs),
            samples=self.store.samples,
            threads=self.config.threads,
            stop=self._may_not_compare,
        )

    def _may_not_compare(self) -> bool:
        now = self.situation.now
        directive = now.directive
        return now.stopping or bool(now.blockers) or directive is None or directive.assignment is not None

    def _release(self, assignment: Assignment, error: AgentError | WireError) -> None:
        """Give the assignment back, so that the platform need not wait for it."""
        try:
            self.link.call(ReleaseAssignment(assignment=assignment.assignment, reason=reason_of(error)), Done)
        except AgentError as failure:
            if isinstance(failure, Refused) and failure.is_revoked:
                self.situation.end(failure)
                return
            if is_retryable(failure):
                self._wait_out(failure)
                return
        self._finish(assignment, "released", error.detail)

    def _finish(self, assignment: Assignment, outcome: Outcome, sentence: str, *, is_uncounted: bool = False) -> None:
        self.store.work.finish(outcome, sentence, now=time.time(), is_uncounted=is_uncounted)
        self.situation.report(None)
        log.log(
            logging.INFO if outcome == "accepted" else logging.WARNING,
            "round %d of %s: %s: %s",
            assignment.round,
            assignment.federation,
            outcome,
            sentence,
        )

    def _wait_out(self, error: AgentError) -> None:
        """Do not call the platform for a while; only the end of the agent ends the wait."""
        self._backoff = self._backoff.failed()
        until = time.monotonic() + self._backoff.delay_s(longest_s=max(1.0, self.identity.check_in_s), rng=self.rng)
        log.warning("%s; trying again", error.detail)
        while not (now := self.situation.now).stopping and (left := until - time.monotonic()) > 0:
            self.situation.wait(now.edition, left)

    def _halt(self, assignment: Assignment, finishing_s: float) -> Halt | None:
        if self._must_pause(assignment):
            return Halt.PAUSE
        closes_at = self.situation.now.closes_at
        if closes_at is None:
            return None
        margin_s = min(_LONGEST_MARGIN_S, 0.1 * assignment.remaining_s)
        margin_s += 2 * (finishing_s + (self.store.journal.measured("upload_s") or 0.0))
        return Halt.ENOUGH if closes_at - time.monotonic() < margin_s else None

    def _must_pause(self, assignment: Assignment) -> bool:
        now = self.situation.now
        directed = now.directive
        taken = directed is not None and (
            directed.assignment is None or directed.assignment.assignment != assignment.assignment
        )
        return now.stopping or bool(now.blockers) or taken

    def _report(self, assignment: Assignment, stage: Stage) -> None:
        last = self.situation.now.progress
        done, total = (last.steps_done, last.steps_total) if last else (0, 0)
        self._reported_at = time.monotonic()
        self.situation.report(
            Progress(assignment=assignment.assignment, stage=stage, steps_done=done, steps_total=total)
        )

    def _report_steps(self, assignment: Assignment, done: int, total: int) -> None:
        """Report not every step of hundreds a second: each report wakes the other threads."""
        if done == total or time.monotonic() - self._reported_at >= _PROGRESS_S:
            self._reported_at = time.monotonic()
            self.situation.report(
                Progress(assignment=assignment.assignment, stage="training", steps_done=done, steps_total=total)
            )


def _plan_of(assignment: Assignment) -> "DevicePlan":
    """Raises WireError ``plan.*``."""
    from coterie_learning.device_plan import parse_device_plan  # it loads NumPy

    return parse_device_plan(assignment.plan)


def _is_masked(assignment: Assignment) -> bool:
    """Whether the plan hides in a sum what the device measures; one that cannot be read is taken for such a plan."""
    try:
        return _plan_of(assignment).privacy.masking() is not None
    except WireError:  # training says so, and gives it back
        return True


def _epoch(assigned: Assignment | None) -> int | None:
    """Of the route that the platform names; None: it names none."""
    return assigned.route.epoch if assigned is not None and assigned.route is not None else None


def _can_wait(action: Action, error: AgentError) -> bool:
    """Whether the device can wait until its owner has made room; a round cannot."""
    return isinstance(action, Fetch) and error.code == "bundle.no_space"
