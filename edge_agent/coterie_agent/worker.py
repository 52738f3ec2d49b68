"""Carries out the agent's actions, one at a time: accept, train, upload, drop, fetch."""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from coterie_agent.blobs import BlobCache
from coterie_agent.budget import OUT_OF_BUDGET, Budget
from coterie_agent.budget_consent import BudgetConsent
from coterie_agent.config import Config
from coterie_agent.consent import Consent
from coterie_agent.decide import (
    Accept,
    Action,
    Compare,
    ContinueShadowing,
    Drop,
    EndShadowing,
    Facts,
    Fetch,
    GiveBack,
    Measure,
    Rest,
    TakeForms,
    TimeModel,
    Train,
    Upload,
    decide,
)
from coterie_agent.delivering import Delivering
from coterie_agent.discovery.book import AddressBook
from coterie_agent.errors import AgentError, reason_of
from coterie_agent.evaluating import Evaluations
from coterie_agent.exclusions import Exclusions
from coterie_agent.forms import Forms
from coterie_agent.gossip.calling import PeerCalls
from coterie_agent.gossip.opened import Gossip
from coterie_agent.link.failure import Refused
from coterie_agent.link.http import HttpLink
from coterie_agent.model import fetch_model, parts
from coterie_agent.retrying import Retrying
from coterie_agent.shadowing import Shadowing
from coterie_agent.situation import Now, Situation
from coterie_agent.still_named import StillNamed
from coterie_agent.store.database import StoreFailed
from coterie_agent.store.identity import Identity
from coterie_agent.store.opened import Store
from coterie_agent.store.work import Outcome
from coterie_agent.training.halt import Halt
from coterie_agent.trials import Trials
from coterie_agent.variants import FLOAT32
from coterie_learning.custom_kinds import named_failures
from coterie_wire.bundle import BlobRef, Difference, Manifest, SignedManifest, verify_manifest
from coterie_wire.errors import WireError
from coterie_wire.meeting import Gathering, Roster
from coterie_wire.messages import Assignment, OfferUpdate, Progress
from coterie_wire.secure_sum import SumNews

if TYPE_CHECKING:  # they load asyncio or NumPy
    from coterie_agent.direct.paths import DirectPaths
    from coterie_agent.training.assignment import Training
    from coterie_agent.training.teaching import Teaching
    from coterie_learning.device_plan import DevicePlan
    from coterie_learning.privacy import Masking
    from coterie_learning.secure_sum.vector import Vector
    from coterie_learning.teacher import Teacher

log = logging.getLogger(__name__)
Stage = Literal["accepted", "training", "waiting", "uploading"]
_PROGRESS_S = 0.5
_LONGEST_MARGIN_S = 2.0
_CLOSED = "rounds.assignment_closed"
"""The platform's final refusal of an update that came too late: the device is not counted in the round."""


@dataclass(kw_only=True)
class Worker:
    """The thread for assignments. It decides by the situation and the store, so it may be stopped at any moment."""

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
    exclusions: Exclusions
    gossip: Gossip | None = None
    """Gossip with peers; None: the owner does not allow it."""
    book: AddressBook | None = None
    """Addresses of devices that have moved since the platform last named them."""
    paths: "DirectPaths | None" = None
    """Direct paths to supernodes that do not answer at their addresses."""
    _refused: SignedManifest | None = None
    """A champion that turned out to be unusable; it is not fetched again."""
    _reported_at: float = 0.0
    _still_named: StillNamed = field(default_factory=StillNamed)
    _retrying: Retrying = field(init=False)
    _delivering: Delivering = field(init=False)
    _trials: Trials = field(init=False)
    _forms: Forms = field(init=False)

    def __post_init__(self) -> None:
        longest_s = max(1.0, self.identity.check_in_s)
        self._retrying = Retrying(link=self.link, situation=self.situation, longest_s=longest_s)
        self._delivering = Delivering(
            link=self.link,
            work=self.store.work,
            situation=self.situation,
            trusted=self.store.identity.trusted,
            peer_secret=self.peer_secret,
            chunk_bytes=self.config.chunk_bytes,
            record_sent=self.record_sent,
            exclusions=self.exclusions,
            book=self.book,
            paths=self.paths,
        )
        self._trials = Trials(
            link=self.link,
            store=self.store,
            blobs=self.blobs,
            situation=self.situation,
            threads=self.config.threads,
        )
        self._forms = Forms(
            config=self.config,
            store=self.store,
            blobs=self.blobs,
            variants=self.variants,
            link=self.link,
            situation=self.situation,
            must_stop=self._trials.must_not_compare,
        )
        self._evaluations = Evaluations(
            config=self.config,
            store=self.store,
            blobs=self.blobs,
            link=self.link,
            situation=self.situation,
        )
        self._shadowing = Shadowing(
            config=self.config,
            store=self.store,
            blobs=self.blobs,
            link=self.link,
            must_stop=self._trials.must_not_compare,
        )

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
        still_named = None
        if directive is not None and assigned is not None and self.store.work.is_finished(assigned.assignment):
            still_named, assigned = self._still_named.count(directive, assigned), None
        champion = directive.manifest if directive else None
        if champion == self._refused or (now.version is not None and champion == self.store.work.held_model()):
            champion = None
        evaluate = self._evaluations.due(now)
        return Facts(
            in_hand=in_hand,
            spooled=in_hand is not None and self.store.work.offer() is not None,
            answered=directive is not None,
            assigned=assigned,
            still_named=still_named,
            champion=champion,
            blockers=now.blockers,
            is_held=in_hand is not None and self._delivering.is_held(in_hand, now),
            trial=self._trials.due(now),
            forms=self._forms.listed(now),
            evaluate=evaluate,
            shadow=self._shadowing.due(now),
            is_shadow_over=self._shadowing.is_over(now),
            is_untimed=self._forms.is_untimed(now),
            is_measured=evaluate is not None and self._evaluations.report_of(evaluate) is not None,
        )

    def _attempt(self, action: Action) -> None:
        try:
            with named_failures(AgentError):
                self._perform(action)
            self._retrying.succeed()
        except (AgentError, WireError) as error:
            if self._retrying.handles(error):
                return
            if isinstance(error, StoreFailed):
                raise  # not caused by the assignment, and the store could not record it
            if isinstance(error, AgentError) and _can_wait(action, error):
                self._retrying.wait_out(error)
            elif isinstance(action, Train | Upload | Drop):
                if error.code == OUT_OF_BUDGET:
                    self.situation.set_budget_wait(reason_of(error))
                if self._retrying.give_back(action.assignment.assignment, error):
                    self._finish(action.assignment, "released", error.detail)
            elif isinstance(action, Fetch):
                log.error("the platform's newest version is not usable: %s [%s]", error.detail, error.code)
                self._refused = action.champion
                self._trials.record_fault(error)
            elif isinstance(action, TakeForms):
                log.warning("no smaller form of the model is used: %s [%s]", error.detail, error.code)
                self._forms.refuse(action.forms)
            elif isinstance(action, Compare):
                log.warning("the candidate cannot be compared here: %s [%s]", error.detail, error.code)
                self._trials.end(action.trial)
            elif isinstance(action, Measure):
                self._evaluations.give_up(action.evaluate, error)
            elif isinstance(action, ContinueShadowing):
                self._shadowing.give_up(action.trial, error)
            elif isinstance(action, TimeModel):
                log.warning("predictions cannot be timed: %s [%s]", error.detail, error.code)
                self._forms.skip_timing()

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
        elif isinstance(action, GiveBack):
            self._retrying.give_back(action.assignment.assignment, self._still_named.given_back())
        elif isinstance(action, Fetch):
            trial = self._trials.newest
            # The champion stays beside a candidate: for comparison, and for use after a rollback.
            kept = () if trial is None else parts(verify_manifest(trial.champion, *self.store.identity.trusted()))
            directive = self.situation.now.directive
            difference = directive.difference if directive else None
            self._fetch(action.champion, stop=self.situation.is_offline, also=kept, difference=difference)
        elif isinstance(action, Compare):
            self._trials.run(action.trial)
        elif isinstance(action, TakeForms):
            self._forms.take(action.forms)
        elif isinstance(action, Measure):
            self._forms.note_run()
            self._evaluations.run(action.evaluate)
        elif isinstance(action, ContinueShadowing):
            self._shadowing.run(action.trial)
        elif isinstance(action, EndShadowing):
            self._shadowing.drop()
        elif isinstance(action, TimeModel):
            self._forms.time()

    def _train(self, assignment: Assignment) -> None:
        # Only here: NumPy and onnxruntime take 30 MB, and most devices are idle most of the time.
        from coterie_agent.training.assignment import Training
        from coterie_agent.training.model import Model
        from coterie_agent.training.teaching import parts_of
        from coterie_agent.training.turns import check_turn, release_cost

        self._forms.note_run()
        plan = _plan_of(assignment)
        Consent(self.config.consent, self.store.agreements).check(assignment.federation, plan.scopes)
        check_turn(assignment, plan.privacy, self.store.work)
        spent = release_cost(plan.privacy)
        if assignment.budget is not None:
            BudgetConsent(self.config.privacy, self.store.promises).check(assignment.federation, assignment.budget)
        if spent is not None:
            self._budget.check(*spent)
        self.situation.set_budget_wait(None)
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
            record_durations=partial(self._forms.keep, manifest, "step", FLOAT32),
            rest=partial(self.situation.rest, processor_share=self.config.processor_share),
            teaching=None if teacher is None else self._teaching(assignment, manifest, teacher),
        )
        done = self._gossip(training, self.gossip) or training.run
        if done():
            self._report(assignment, "uploading")
        else:
            log.info("training of round %d pauses", assignment.round)
            self._report(assignment, "waiting")

    def _gossip(self, training: "Training", gossip: Gossip | None) -> Callable[[], bool] | None:
        """Training with the other devices of the round; None: the device trains alone."""
        assignment = training.assignment

        def newest() -> Gathering | None:
            stored = self.store.meetings.load()
            known = assignment.gathering if stored is None else stored[0].gathering
            return self.situation.now.gathering(assignment.assignment) or known

        begun = newest()
        if begun is None or gossip is None:
            return None
        from coterie_agent.gossip.training import GossipTraining

        def calls_in(roster: Roster) -> PeerCalls:
            gossip.reaching.follow(roster, newest() or begun)
            return PeerCalls(
                device=self.identity.device,
                secret=self.peer_secret,
                round_=roster.round,
                record_sent=self.record_sent,
                reaching=gossip.reaching,
                book=self.book,
            )

        return GossipTraining(
            training=training,
            gathering=lambda: newest() or begun,
            handler=gossip.handler,
            calls_in=calls_in,
            wait=lambda at_most_s: self.situation.wait(self.situation.now.edition, at_most_s),
        ).run

    def _teacher(self, assignment: Assignment, plan: "DevicePlan") -> "Teacher | None":
        """The teacher that the plan asks for. Raises WireError ``bundle.*``, or AgentError ``data.no_teacher``."""
        from coterie_learning.teacher import verify_teacher

        if not plan.local.needs_teacher():
            return None
        if assignment.teacher is None:
            raise AgentError("data.no_teacher", "the plan learns from the cloud model, and the platform named none")
        return verify_teacher(assignment.teacher, *self.store.identity.trusted())

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
        Consent(self.config.consent, self.store.agreements).check(assignment.federation, plan.scopes)
        masking = plan.privacy.masking()
        if masking is None:
            self._charge(assignment, offer, plan)
            self._deliver(assignment, offer, plan)
        else:
            self._sum(assignment, offer, plan, masking)

    def _charge(self, assignment: Assignment, offer: OfferUpdate, plan: "DevicePlan") -> None:
        """Charge the privacy budget with what the update will reveal, before any of it is sent.

        Where each update is a release of its own, each is charged. Raises AgentError ``privacy.device_budget``.
        """
        from coterie_agent.training.turns import release_cost

        spent = release_cost(plan.privacy)
        if spent is not None:
            release = assignment.assignment
            if plan.privacy.releases == "updates":
                release += f" {offer.sha256[:16]}"
            self._budget.charge(release, assignment.federation, *spent, now=time.time())

    @property
    def _budget(self) -> Budget:
        return Budget(self.config.privacy, self.store.privacy_ledger)

    def _deliver(self, assignment: Assignment, offer: OfferUpdate, plan: "DevicePlan") -> None:
        """Upload the unmasked update."""
        if not self.store.work.is_sound(offer):
            self.store.work.delete_update()
            return
        self._report(assignment, "uploading")
        started = time.monotonic()
        outcome = self._delivering.run(assignment, offer)
        if outcome == "accepted":
            self.store.journal.measure("upload_s", time.monotonic() - started)
            self._finish(assignment, "accepted", f"update of {offer.size_bytes} bytes accepted")
        elif isinstance(outcome, Refused):
            is_uncounted = outcome.code == _CLOSED
            if is_uncounted and plan.privacy.releases == "sums":  # the noise is for the sum, which has nothing of it
                self.store.privacy_ledger.take_back(assignment.assignment)
            self._finish(assignment, "dropped", outcome.detail, is_uncounted=is_uncounted)

    def _sum(self, assignment: Assignment, offer: OfferUpdate, plan: "DevicePlan", masking: "Masking") -> None:
        """Add the update, and what was measured, to a secure sum."""
        from coterie_agent.secure_sum import SecureSum
        from coterie_agent.training.contribution import Contribution
        from coterie_agent.training.model import Model

        manifest = self._fetch(assignment.manifest, stop=self.situation.is_offline)
        if manifest is None:
            return
        self._report(assignment, "uploading")
        contribution = Contribution(
            assignment=assignment,
            plan=plan,
            masking=masking,
            model=Model(manifest, self.blobs),
            work=self.store.work,
            offer=offer,
        )

        def vector(members: int) -> "Vector":
            self._charge(assignment, offer, plan)
            return contribution.vector(members)

        ended = SecureSum(
            assignment=assignment.assignment,
            device=self.identity.device,
            identity=self.store.identity.key(),
            terms=masking.terms,
            vector=vector,
            link=self.link,
            store=self.store.secure_sum,
            log=self.store.identity_log,
            situation=self.situation,
            report_wait=self.situation.set_sum_wait,
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
        manifest = verify_manifest(signed, *self.store.identity.trusted())
        if not fetch_model(manifest, self.blobs, self.link.download, stop=stop, difference=difference):
            return None
        if self.situation.now.version != manifest.version:
            self.store.work.hold_model(signed)
            self.store.samples.fit(manifest.model.classes)
            self.situation.hold(manifest.version, manifest.model)
            # Last: a thread that misses a blob finds that another version is held.
            self.blobs.keep_only((*parts(manifest), *also, *self._shadowing.parts()))
            log.info("holds version %d of %s", manifest.number, manifest.pair)
        return manifest

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

    def _halt(self, assignment: Assignment, finishing_s: float) -> Halt | None:
        if self._must_pause(assignment):
            return Halt.PAUSE
        closes_at = self.situation.now.closes_at
        if closes_at is None:
            return None
        margin_s = min(_LONGEST_MARGIN_S, 0.1 * assignment.remaining_s)
        margin_s += 2 * (finishing_s + (self.store.journal.measurement("upload_s") or 0.0))
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
    """Whether the plan hides in a sum what the device measures; true too for a plan that cannot be read."""
    try:
        return _plan_of(assignment).privacy.masking() is not None
    except WireError:  # training reports this, and gives the assignment back
        return True


def _can_wait(action: Action, error: AgentError) -> bool:
    """Whether the device can wait until its owner has made room; a round cannot."""
    return isinstance(action, Fetch) and error.code == "bundle.no_space"
