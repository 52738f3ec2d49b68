"""Trains a personal model beside the version, in short slices of time, and predicts with the better of the two."""

import hashlib
import logging
import math
import time
from dataclasses import dataclass

import msgspec

from coterie_agent.config import Config
from coterie_agent.errors import AgentError
from coterie_agent.link.http import HttpLink
from coterie_agent.model import held_manifest
from coterie_agent.peers.figures import figures_under, report_figures
from coterie_agent.situation import Now, Situation
from coterie_agent.store.opened import Store
from coterie_agent.store.peers import PeersStatus, Tuned, Tuning, TuningTensors
from coterie_agent.store.personal_model import THE_VERSION, PersonalEdition, PersonalTensors
from coterie_agent.store.samples import Snapshot
from coterie_agent.training.model import Frozen, Model, Parameters, read_parameters
from coterie_agent.training.predictor import Predictor
from coterie_agent.training.trainer import Trainer, open_steps, train_graph
from coterie_learning.client.personal import GivenPersonal, choose, is_due, parts_of, personal_training, still_answers
from coterie_learning.client.training import Checkpoint, Judge, Learn, Progress
from coterie_learning.metrics import SampleFigures
from coterie_learning.personal import PersonalRules
from coterie_wire.helping import StandingPlan
from coterie_wire.structs import from_json
from coterie_wire.tensors import encode_tensors

log = logging.getLogger(__name__)
_AT_A_TIME_S = 0.5
"""Seconds of training after which other work may run."""
_NEWEST = 2**62


@dataclass
class _Run:
    """An unfinished training."""

    snapshot: Snapshot
    trainer: Trainer
    predictor: Predictor
    saved_at: float
    """On the monotonic clock."""


@dataclass(kw_only=True)
class PersonalTraining:
    """Personal training under one plan from one version. It is finished even if a newer version arrives meanwhile.

    Otherwise a federation whose rounds are shorter than this training would never have personal models. The trained
    model is compared with the version held at the end, and the model in use with each version that arrives later.
    """

    standing: StandingPlan
    rules: PersonalRules
    model: Model
    config: Config
    store: Store
    link: HttpLink
    situation: Situation
    before: PersonalEdition | None
    """The personal model in the store when last read or written here."""
    _run: _Run | None = None
    _checked_up_to: int | None = None
    """The newest sample when no training was due."""

    def is_current(self, standing: StandingPlan, version: str) -> bool:
        """Whether the plan is unchanged, and the version too unless a training from it is unfinished."""
        same = standing.digest == self.standing.digest and self.before == self.store.peers.personal()
        return same and (version == self.model.manifest.version or self._run is not None)

    def report(self, now: Now) -> bool:  # noqa: ARG002
        """Report to the platform how the latest training ended."""
        return report_figures(self.standing, self.config, self.store, self.link)

    def learn(self, now: Now) -> bool:
        """Train for a short time, if conditions allow it and there is no assignment."""
        if now.blockers or self.store.work.current() is not None:
            return False
        if self._has_to_compare(now):
            return self._compare()
        run = self._run
        if run is not None and not self._is_whole(run.snapshot):
            self._run = None
            return True  # the next training is from the version that is held by now
        if run is None:
            run = self._run = self._begin()
        return run is not None and self._continue(run)

    def status(self) -> PeersStatus:
        """The status for the owner."""
        return PeersStatus(self.standing.federation, 0, None, False, (), None, tuned=self._tuned())

    def _tuned(self) -> Tuned | None:
        return figures_under(self.standing, self.store)

    def _has_to_compare(self, now: Now) -> bool:
        """Whether a version has arrived since the personal model in use was last compared with one."""
        if self.before is None or self.before.is_elsewhere or not self.store.peers.is_personal():
            return False
        tuned = self._tuned()
        return tuned is not None and tuned.compared_with != now.version

    def _compare(self) -> bool:
        """Predict with the new version from now on where it is better; False if it must stop."""
        spec, peers, samples = self.model.manifest.model, self.store.peers, self.store.samples
        held, tuned = self._held(), self._tuned()
        assert tuned is not None and self.before is not None, "that is what is compared"
        version = held.manifest.version
        tuned = msgspec.structs.replace(tuned, compared_with=version)
        own, parts = read_parameters(peers.personal_tensors(), spec), parts_of(samples.ids(samples.snapshot()))
        if held.manifest.model.version != spec.version or own is None or parts.train is parts.held_out:
            peers.compare(tuned, before=self.before, own=None)  # they cannot be compared
            return True
        predictor = self._predictor(held.parameters(), held.frozen())
        by_version = predictor.measure_each(samples, parts.held_out, stop=self._must_stop)
        predictor.set_parameters(own)
        by_own = predictor.measure_each(samples, parts.held_out, stop=self._must_stop)
        if by_version is None or by_own is None:
            return False
        answers = still_answers(by_own, by_version)
        tuned = msgspec.structs.replace(
            tuned,
            answers=answers,
            samples=len(parts.held_out),
            version_accuracy=accuracy_of(by_version),
            own_accuracy=accuracy_of(by_own if answers else by_version),
            reported=tuned.reported and answers,
        )
        answering = None if answers else PersonalTensors(version, THE_VERSION)
        self.before = peers.compare(tuned, before=self.before, own=answering) or self.before
        return True

    def _held(self) -> Model:
        return Model(held_manifest(self.store), self.model.blobs)

    def _predictor(self, parameters: Parameters, frozen: Frozen) -> Predictor:
        spec = self.model.manifest.model
        return Predictor(self.model.predict(), spec, parameters, frozen, threads=self.config.threads)

    def _begin(self) -> _Run | None:
        """The training that is due, or one begun before the agent was restarted; None: there is none."""
        tuning = self.store.peers.tuning()
        saved = self.store.peers.tuning_tensors() if tuning is not None and self._can_resume(tuning) else None
        if saved is None:
            tuning = None
        snapshot = self._due() if tuning is None else Snapshot(tuning.first, tuning.last)
        if snapshot is None:
            return None
        spec, peers, frozen = self.model.manifest.model, self.store.peers, self.model.frozen()
        given = GivenPersonal(
            rules=self.rules,
            model=spec,
            received=self.model.parameters(),
            personal=read_parameters(peers.personal_tensors(), spec),
            ids=self.store.samples.ids(snapshot),
            seed=seed_of(self.model.manifest.version, snapshot.last),
        )
        graph = train_graph(self.model.train_step(), spec, threads=self.config.threads)
        checkpoint = None
        if tuning is not None and saved is not None:
            checkpoint = Checkpoint(from_json(tuning.client, Progress), *saved)
        training = personal_training(given, open_steps(graph, frozen_tensors=frozen), checkpoint=checkpoint)
        predictor = self._predictor(given.received, frozen)
        return _Run(snapshot, Trainer(training, self.store.samples), predictor, time.monotonic())

    def _can_resume(self, tuning: Tuning) -> bool:
        same = (tuning.digest, tuning.version) == (self.standing.digest, self.model.manifest.version)
        return same and self._is_whole(Snapshot(tuning.first, tuning.last))

    def _is_whole(self, snapshot: Snapshot) -> bool:
        """Whether the device still has all samples that a training began with; the oldest are dropped first."""
        return bool(self.store.samples.ids(Snapshot(snapshot.first, snapshot.first)))

    def _due(self) -> Snapshot | None:
        """The samples to train on now; None: none. Called twice a second, so it reads only when there are new ones."""
        samples, tuned = self.store.samples, self._tuned()
        newest = samples.newest_ids(up_to=_NEWEST, count=1)
        if not newest or newest[0] == self._checked_up_to:
            return None
        known = tuned if tuned is not None and tuned.version == self.model.manifest.version else None
        up_to = None if known is None else known.trained_up_to
        snapshot = samples.snapshot()
        if is_due(samples.ids(snapshot), trained_up_to=up_to, again_share=self.rules.again_share):
            return snapshot
        self._checked_up_to = newest[0]
        return None

    def _continue(self, run: _Run) -> bool:
        training, until = run.trainer.training, time.monotonic() + _AT_A_TIME_S
        while (step := training.next_task()) is not None:
            if self._must_stop():
                self._save(run)
                return False
            if time.monotonic() >= until:
                if until - run.saved_at >= self.config.checkpoint_s:
                    self._save(run)
                return True
            if isinstance(step, Learn):
                self._learn(run.trainer, step)
            elif not self._judge(run, step):
                self._save(run)
                return False
        return self._end(run)

    def _learn(self, trainer: Trainer, step: Learn) -> None:
        worked_s = trainer.train_s
        try:
            trainer.learn(step)
        except AgentError as error:
            if error.code != "agent.diverged":
                raise
            log.warning("the training of the personal model ends early: %s", error.detail)
            trainer.training.end_early()
        self.situation.rest(trainer.train_s - worked_s, processor_share=self.config.processor_share)

    def _judge(self, run: _Run, step: Judge) -> bool:
        run.predictor.set_parameters(step.parameters)
        loss = math.inf
        try:
            found = run.predictor.measure(self.store.samples, loss_of=step.ids, accuracy_of=(), stop=self._must_stop)
            if found is None:
                return False
            loss = found.loss
        except AgentError as error:
            if error.code != "agent.diverged":
                raise
        run.trainer.training.record_loss(step, loss)
        return True

    def _figures(self, run: _Run, parameters: Parameters) -> SampleFigures | None:
        """Figures of each held-out sample; None if it must stop."""
        run.predictor.set_parameters(parameters)
        held_out = run.trainer.training.parts.held_out
        return run.predictor.measure_each(self.store.samples, held_out, stop=self._must_stop)

    def _end(self, run: _Run) -> bool:
        """Predict with the better model from now on; False if it must stop before that is known."""
        spec, peers = self.model.manifest.model, self.store.peers
        held = self._held()
        if held.manifest.model.version != spec.version:
            self._run = None  # the device has gone on to another model
            return True
        trained, own = run.trainer.training.trained(), read_parameters(peers.personal_tensors(), spec)
        by_version, by_trained = self._figures(run, held.parameters()), self._figures(run, trained)
        by_own = None if own is None else self._figures(run, own)
        if by_version is None or by_trained is None or (own is not None and by_own is None):
            self._save(run)
            return False
        unless_worse = self.before is not None and self.before.is_elsewhere
        choice = choose(by_version, by_trained, by_own, unless_worse=unless_worse)
        tuned = Tuned(
            digest=self.standing.digest,
            version=self.model.manifest.version,
            trained_up_to=run.snapshot.last,
            compared_with=held.manifest.version,
            answers=choice.answers != "version",
            samples=len(by_version.losses),
            version_accuracy=accuracy_of(by_version),
            own_accuracy=accuracy_of(choice.chosen),
        )
        match choice.answers:
            case "trained":
                answering = PersonalTensors(self.model.manifest.version, encode_tensors(dict(trained)))
            case "version":
                answering = PersonalTensors(held.manifest.version, THE_VERSION)
            case "personal model":
                assert own is not None, "it was compared"
                answering = PersonalTensors(held.manifest.version, encode_tensors(dict(own)))
        stored = peers.end_tuning(tuned, before=self.before, own=answering)
        self.before, self._run = stored or self.before, None
        return True

    def _save(self, run: _Run) -> None:
        found = run.trainer.training.checkpoint()
        progress = msgspec.json.encode(found.progress)
        version, digest = self.model.manifest.version, self.standing.digest
        tuning = Tuning(digest, version, run.snapshot.first, run.snapshot.last, progress)
        self.store.peers.save_tuning(tuning, TuningTensors(found.tensors, found.best))
        run.saved_at = time.monotonic()

    def _must_stop(self) -> bool:
        now = self.situation.now
        return now.stopping or bool(now.blockers)


def seed_of(version: str, newest: int) -> int:
    """The seed of the training on the samples up to `newest`, which sets their order."""
    return int(hashlib.sha256(f"{version} {newest}".encode()).hexdigest()[:12], 16)


def accuracy_of(found: SampleFigures) -> float | None:
    """Share of the samples predicted correctly; None where the task has no classes."""
    return None if found.right is None else float(found.right.mean())
