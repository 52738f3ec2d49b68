"""One assignment, from the received parameters to the spooled update; stopped and resumed at any step."""

import hashlib
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import msgspec

from coterie_agent.errors import AgentError
from coterie_agent.store.opened import Store
from coterie_agent.store.peers import Tuned
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.store.samples import Snapshot
from coterie_agent.store.work import Checkpoint, Spooled, TrainingProgress
from coterie_agent.training.halt import Halt
from coterie_agent.training.model import Model, read_parameters
from coterie_agent.training.predictor import Measure, Predictor
from coterie_agent.training.teaching import Teaching
from coterie_agent.training.trainer import SamplesGone, Trainer, open_steps, train_graph
from coterie_agent.training.turns import stream_part
from coterie_learning.client.optimisation import OpenSteps
from coterie_learning.client.round import ClientRound, Given
from coterie_learning.client.training import Checkpoint as ClientCheckpoint
from coterie_learning.client.training import Judge, Learn, Progress
from coterie_learning.client.update import Update
from coterie_learning.device_plan import DevicePlan
from coterie_learning.device_state import States, decode_state, encode_state
from coterie_wire.errors import WireError
from coterie_wire.latency import Histogram
from coterie_wire.messages import Assignment, OfferUpdate
from coterie_wire.structs import from_json
from coterie_wire.tensors import Tensors, encode_tensors

log = logging.getLogger(__name__)


class TrainingStart(NamedTuple):
    """Where a part of a round starts that is not its first, or not from the version."""

    parameters: Tensors
    """Tensors of a version."""
    seed: int
    progress: TrainingProgress | None
    """What was measured so far; None: nothing."""


class EndedTraining(NamedTuple):
    """A training of one part of a round, ended: what the next part, or the update, is made from."""

    client: ClientRound
    trainer: Trainer
    predictor: Predictor
    progress: TrainingProgress
    trained: Tensors
    ids: Sequence[int]
    """Of the samples."""


class _Compared(NamedTuple):
    """The version beside the personal model that a round trains."""

    held_out: Sequence[int]
    version: Measure | None
    """None: they are not compared."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """What one assignment trains with."""

    assignment: Assignment
    plan: DevicePlan
    model: Model
    store: Store
    threads: int
    checkpoint_s: float
    halt: Callable[[float], Halt | None]
    """Called between steps, with the seconds that finishing takes: why training should stop; None: it continues."""
    report: Callable[[int, int], None]
    """Called with the steps done and in total."""
    record_durations: Callable[[Histogram], None]
    """Called with how long steps took, whenever it pauses or ends."""
    rest: Callable[[float], None]
    """Called after each step with the seconds it took; returns when the next may begin."""
    teaching: Teaching | None = None
    """The cloud model's probabilities, where the plan has the device learn from them."""

    def run(self) -> bool:
        """Whether the update is spooled; if not, training was paused and a checkpoint is kept.

        Where the owner replaces the samples meanwhile, it begins anew with the others.
        Raises AgentError ``data.*``, ``model.*``, ``agent.*``, WireError ``tensors.*`` or ``update.*``.
        """
        while True:
            try:
                return self._run()
            except SamplesGone:
                log.warning(
                    "the samples that were learned from are gone; training begins anew with those that are there"
                )
                self.store.work.drop_checkpoint()

    def _run(self) -> bool:
        """As `run`, but raises SamplesGone."""
        part = self.train()
        if part is None:
            return False
        compared = self._compared(part)
        after = None if compared is None else self.measure(part.predictor, part.trained, part.ids, compared.held_out)
        if compared is None or after is None:
            self.save(part)
            return False
        result = part.client.finish(part.trained)
        self.spool(
            result.update,
            part.progress,
            after,
            samples=result.samples,
            steps_done=part.client.training.steps_done,
            steps_total=part.client.training.steps_total,
            classes=part.client.training.classes,
            own=self._personal(part.client, part.trained),
            tuned=self._tuned(part, compared, after),
        )
        return True

    def _compared(self, part: EndedTraining) -> "_Compared | None":
        """The version on the samples held out, where a personal model is compared with it; None if it was paused.

        It is not where too few samples are held out, nor where the plan hides in a sum what devices measure.
        """
        parts = part.client.training.parts
        if not self._is_personal() or parts.train is parts.held_out or self.plan.privacy.masking() is not None:
            return _Compared((), None)
        found = self.measure(part.predictor, self.model.parameters(), parts.held_out, parts.held_out)
        return None if found is None else _Compared(parts.held_out, found)

    def _tuned(self, part: EndedTraining, compared: "_Compared", after: Measure) -> Tuned | None:
        """How it did; None: they were not compared, or no plan applies between rounds under which it could be told."""
        standing = self.store.peers.effective_plan()
        if standing is None or compared.version is None:
            return None
        version = self.model.manifest.version
        return Tuned(
            digest=standing.digest,
            version=version,
            trained_up_to=part.progress.snapshot.last,
            compared_with=version,
            answers=True,
            samples=len(compared.held_out),
            version_accuracy=compared.version.accuracy,
            own_accuracy=after.accuracy,
        )

    def train(self, start: TrainingStart | None = None) -> EndedTraining | None:
        """The steps of one training, from the version or from `start`; None if it was paused, with a checkpoint kept.

        Raises SamplesGone, AgentError ``data.*``, ``model.*``, ``agent.*``, WireError ``tensors.*``.
        """
        manifest, samples = self.model.manifest, self.store.samples
        checkpoint = self.store.work.checkpoint()
        progress = checkpoint.progress if checkpoint else start.progress if start else None
        snapshot = progress.snapshot if progress else self._snapshot()
        ids = samples.ids(snapshot)
        if not ids:
            raise no_samples() if progress is None else SamplesGone
        if self.teaching is not None and not self.teaching.compute(ids, stop=self._paused):
            return None
        frozen = self.model.frozen()
        client = ClientRound(
            self._given(ids, start),
            self._open_steps,
            checkpoint=None if checkpoint is None else _of_client(checkpoint),
        )
        predictor = Predictor(self.model.predict(), manifest.model, client.begun, frozen, threads=self.threads)
        before = progress or self._before(predictor, client, ids, snapshot)
        if before is None:
            return None
        classes = client.training.classes
        teacher = None if self.teaching is None else partial(self.teaching.probabilities, classes=classes)
        trainer = Trainer(client.training, samples, teacher=teacher)
        trainer.train_s, trainer.memory_bytes = before.train_s, before.memory_bytes
        finished = self._steps(client, trainer, predictor, before)
        step_s = trainer.step_s()
        if step_s is not None:
            self.store.journal.measure("train_step_s", step_s)
        self.record_durations(trainer.durations.histogram())
        if not finished:
            return None
        if client.training.steps_done == 0 and start is None:
            raise AgentError("agent.too_late", "the round closes before a first step could be finished")
        progress = msgspec.structs.replace(before, train_s=trainer.train_s, memory_bytes=trainer.memory_bytes)
        return EndedTraining(client, trainer, predictor, progress, client.training.trained(), ids)

    def measure(
        self, predictor: Predictor, parameters: Tensors, ids: Sequence[int], accuracy_of: Sequence[int] = ()
    ) -> Measure | None:
        """The loss of `parameters` over the samples `ids`, and the accuracy over some of them; None if paused."""
        predictor.set_parameters(parameters)
        return predictor.measure(self.store.samples, loss_of=ids, accuracy_of=accuracy_of, stop=self._paused)

    def save(self, part: EndedTraining) -> None:
        """Keep a training that has ended, as a checkpoint: it goes on from there."""
        self._save(part.client, part.trainer, part.progress)

    @cached_property
    def _open_steps(self) -> OpenSteps:
        graph = train_graph(self.model.train_step(), self.model.manifest.model, threads=self.threads)
        return open_steps(graph, frozen_tensors=self.model.frozen())

    def _given(self, ids: Sequence[int], start: TrainingStart | None) -> Given:
        model, peers = self.model.manifest.model, self.store.peers
        return Given(
            plan=self.plan,
            model=model,
            received=self.model.parameters() if start is None else start.parameters,
            ids=ids,
            seen=self.store.samples.labels(),
            seed=self.assignment.seed if start is None else start.seed,
            secret=secrets.randbits(256),
            states=read_states(self.store, self.assignment.federation),
            personal=read_parameters(peers.personal_tensors(), model) if self._is_personal() else None,
            portions=peers.portions_for(self.assignment.assignment) if self._is_followed() else (),
            server=self.model.server_state(),
            round=self.assignment.round,
        )

    def _is_followed(self) -> bool:
        """Whether the personal model and the portions are of the assignment's federation: a device has one of each."""
        standing = self.store.peers.effective_plan()
        return standing is None or standing.federation == self.assignment.federation

    def _is_personal(self) -> bool:
        """Whether the round trains the personal model. In another federation than its own the version is trained."""
        return self.plan.local.trains_personal_model() and self._is_followed()

    def _snapshot(self) -> Snapshot:
        """The samples that the plan trains on: those of its period."""
        period_s = self.plan.local.period_s()
        return self.store.samples.snapshot(since=None if period_s is None else time.time() - period_s)

    def _before(
        self, predictor: Predictor, client: ClientRound, ids: Sequence[int], snapshot: Snapshot
    ) -> TrainingProgress | None:
        """Where training starts from; None when it was paused before that was measured."""
        started, held_out = time.monotonic(), client.training.parts.held_out
        measure = predictor.measure(self.store.samples, loss_of=ids, accuracy_of=held_out, stop=self._paused)
        if measure is None:
            return None
        return TrainingProgress(
            snapshot=snapshot,
            loss_before=measure.loss,
            accuracy_before=measure.accuracy,
            measure_s=time.monotonic() - started,
            train_s=0.0,
        )

    def _steps(self, client: ClientRound, trainer: Trainer, predictor: Predictor, before: TrainingProgress) -> bool:
        """Whether the steps are done, all or enough; if not, a checkpoint is kept."""
        training, saved_at = client.training, time.monotonic()
        while (wanted := training.next_task()) is not None:
            halt = self.halt(before.measure_s)
            if halt is Halt.ENOUGH:
                training.end_early()
                continue
            if halt is Halt.PAUSE:
                self._save(client, trainer, before)
                return False
            if isinstance(wanted, Judge):
                predictor.set_parameters(wanted.parameters)
                found = predictor.measure(self.store.samples, loss_of=wanted.ids, accuracy_of=(), stop=self._paused)
                if found is None:
                    self._save(client, trainer, before)
                    return False
                training.record_loss(wanted, found.loss)
                continue
            self._learn(wanted, trainer)
            self.report(training.steps_done, training.steps_total)
            if time.monotonic() - saved_at >= self.checkpoint_s:
                self._save(client, trainer, before)
                saved_at = time.monotonic()
        return True

    def _learn(self, wanted: Learn, trainer: Trainer) -> None:
        worked_s = trainer.train_s
        if not trainer.learn(wanted):
            raise SamplesGone
        self.rest(trainer.train_s - worked_s)

    def _save(self, client: ClientRound, trainer: Trainer, before: TrainingProgress) -> None:
        found = client.training.checkpoint()
        progress = msgspec.structs.replace(before, train_s=trainer.train_s, memory_bytes=trainer.memory_bytes)
        content = msgspec.json.encode(found.progress)
        self.store.work.save_checkpoint(Checkpoint(progress, content, found.tensors, found.best))

    def _paused(self) -> bool:
        return self.halt(0.0) is Halt.PAUSE

    def spool(
        self,
        update: Update,
        before: TrainingProgress,
        after: Measure,
        *,
        samples: int,
        steps_done: int,
        steps_total: int,
        classes: tuple[int, ...] = (),
        own: PersonalTensors | None = None,
        tuned: Tuned | None = None,
        suspects: tuple[str, ...] = (),
    ) -> None:
        """Keep the update for upload, with what was measured; `own` is the personal model from now on, where it is.

        Raises SamplesGone.
        """
        if not self.store.samples.ids(before.snapshot, at_most=1):
            raise SamplesGone
        assignment, payload = self.assignment, update.payload
        offer = OfferUpdate(
            assignment=assignment.assignment,
            sha256=hashlib.sha256(payload).hexdigest(),
            size_bytes=len(payload),
            samples=samples,
            steps_done=steps_done,
            steps_total=steps_total,
            loss_before=before.loss_before,
            loss_after=after.loss,
            accuracy_before=before.accuracy_before,
            train_s=before.train_s,
            classes=classes,
            train_memory_bytes=before.memory_bytes,
            suspects=suspects,
        )
        states = {slot: encode_state(state) for slot, state in update.states.items() if not state.is_empty}
        self.store.work.spool(
            Spooled(offer, assignment.federation, payload, states),
            own=own,
            tuned=tuned,
            part=stream_part(assignment, self.plan.privacy),
        )

    def _personal(self, client: ClientRound, trained: Tensors) -> PersonalTensors | None:
        """The personal model after the round, where it trains that."""
        if not self._is_personal():
            return None
        late = self.store.peers.portions_after(self.assignment.assignment)
        personal = client.with_late_portions(trained, late)
        return PersonalTensors(self.model.manifest.version, encode_tensors(dict(personal)))


def no_samples() -> AgentError:
    """None are left that the plan would learn from."""
    return AgentError("data.no_samples", "no samples are left on the device that the plan would learn from")


def read_states(store: Store, federation: str) -> States:
    """The device states in `federation`, by slot; a damaged state is logged and dropped."""
    states = {}
    for slot, blob in store.work.states(federation).items():
        try:
            states[slot] = decode_state(blob)
        except WireError as error:
            log.error("the state of slot %s in %s is forgotten: %s [%s]", slot, federation, error.detail, error.code)
    return states


def _of_client(checkpoint: Checkpoint) -> ClientCheckpoint:
    return ClientCheckpoint(from_json(checkpoint.client, Progress), checkpoint.tensors, checkpoint.best)
