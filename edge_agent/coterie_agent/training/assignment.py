"""One assignment, from the received parameters to the spooled update; stopped and resumed at any step."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from coterie_agent.errors import AgentError
from coterie_agent.store.opened import Store
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.store.samples import Snapshot
from coterie_agent.store.work import Checkpoint, TrainingProgress
from coterie_agent.training.batches import Split, split, steps_per_epoch
from coterie_agent.training.customised import Customised
from coterie_agent.training.epochs import Epochs
from coterie_agent.training.halt import Halt
from coterie_agent.training.model import Model, Parameters, read_parameters
from coterie_agent.training.predictor import Measure, Predictor
from coterie_agent.training.start import with_portions
from coterie_agent.training.teaching import Teaching
from coterie_agent.training.trainer import Trainer, train_graph
from coterie_agent.training.update import make_update
from coterie_learning.device_plan import DevicePlan
from coterie_wire.messages import Assignment, OfferUpdate
from coterie_wire.tensors import Tensors, encode_tensors


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
    """Asked between steps, with the seconds that finishing takes: whether to go on."""
    report: Callable[[int, int], None]
    """Told steps done and in total."""
    rest: Callable[[float], None]
    """Told after each step how many seconds it took; returns when the next may begin."""
    teaching: Teaching | None = None
    """The cloud model's word, where the plan has the device learn from it."""

    def run(self) -> bool:
        """Whether the update is spooled; if not, training was paused and a checkpoint is kept.

        Raises AgentError ``data.*``, ``model.*``, ``agent.*``, WireError ``tensors.*`` or ``update.*``.
        """
        spec, received, local = self.model.manifest.model, self.model.parameters(), self.plan.local
        checkpoint = self.store.work.checkpoint()
        snapshot = checkpoint.progress.snapshot if checkpoint else self._snapshot()
        ids = self.store.samples.ids(snapshot)
        if not ids:
            raise AgentError("data.no_samples", "no samples are left on the device that the plan would learn from")
        if self.teaching is not None and not self.teaching.ask(ids, stop=self._paused):
            return False
        stopping = local.stopping()
        parts = split(ids) if stopping is None else split(ids, share=stopping.validation_share)
        part = (
            Customised(spec, local.scope(), checkpoint.progress.classes)
            if checkpoint
            else Customised.of_device(spec, local.scope(), self.store.samples.seen())
        )
        begun, frozen = part.begin(received), self.model.frozen()
        predictor = Predictor(self.model.predict(), spec, begun, frozen, threads=self.threads)
        before = self._before(checkpoint, predictor, ids, parts, snapshot, part.classes)
        if before is None:
            return False
        start = begun if checkpoint else self._start(received, part)
        graph = train_graph(self.model.train_step(), spec, threads=self.threads)
        trainer = Trainer(
            graph,
            spec,
            begun,
            frozen,
            start=start,
            samples=self.store.samples,
            train=parts.train,
            weights=local.weights,
            seed=self.assignment.seed,
            still=part.still(),
            teacher=None if self.teaching is None else partial(self.teaching.words, classes=part.classes),
        )
        if checkpoint:
            trainer.restore(
                checkpoint.tensors,
                steps_done=before.steps_done,
                train_s=before.train_s,
                memory_bytes=before.memory_bytes,
            )
        epoch = steps_per_epoch(len(parts.train), spec.batch_size)
        run = Epochs(
            stopping=stopping,
            steps=epoch,
            held_out=parts.held_out,
            predictor=predictor,
            samples=self.store.samples,
            stop=self._paused,
            watched=before.watched,
            best=checkpoint.best if checkpoint else None,
        )
        total = local.epochs_wanted() * epoch
        finished = self._steps(trainer, total, before, run)
        step_s = trainer.step_s()
        if step_s is not None:
            self.store.journal.measure("train_step_s", step_s)
        if not finished:
            return False
        if trainer.steps_done == 0:
            raise AgentError("agent.too_late", "the round closes before a first step could be finished")
        trained = run.best_of(trainer.parameters(), spec.version)
        predictor.set_parameters(trained)
        after = predictor.measure(self.store.samples, loss_of=ids, accuracy_of=(), stop=self._paused)
        if after is None:
            self._save(trainer, before, run)
            return False
        update = part.end(received, trained)
        own = self._with_late_portions(trained) if local.is_personal() else None
        self._spool(received, update, own, trainer, before, after, samples=len(parts.train), total=total)
        return True

    def _start(self, received: Parameters, part: Customised) -> Tensors:
        """What was received, with what other devices have taught this one since its last update; or the own model."""
        portions = self.store.peers.portions_for(self.assignment.assignment)
        if self.plan.local.is_personal():
            own = read_parameters(self.store.peers.own_tensors(), self.model.manifest.model)
            if own is not None:
                return part.go_on(own, received)
        return part.begin(with_portions(received, self.model.manifest.model, portions, self._known()))

    def _with_late_portions(self, trained: Tensors) -> Tensors:
        """The own model after the round, with what other devices have taught it meanwhile."""
        late = self.store.peers.portions_after(self.assignment.assignment)
        return with_portions(trained, self.model.manifest.model, late, self._known())

    def _known(self) -> list[int]:
        return [label for label, count in enumerate(self.store.samples.class_counts()) if count]

    def _snapshot(self) -> Snapshot:
        """The samples that the plan learns from: those of its period."""
        period_s = self.plan.local.period_s()
        return self.store.samples.snapshot(since=None if period_s is None else time.time() - period_s)

    def _before(
        self,
        checkpoint: Checkpoint | None,
        predictor: Predictor,
        ids: list[int],
        parts: Split,
        snapshot: Snapshot,
        classes: tuple[int, ...],
    ) -> TrainingProgress | None:
        """Where training starts from; None when it was paused before that was measured."""
        if checkpoint:
            return checkpoint.progress
        started = time.monotonic()
        measure = predictor.measure(self.store.samples, loss_of=ids, accuracy_of=parts.held_out, stop=self._paused)
        if measure is None:
            return None
        return TrainingProgress(
            snapshot=snapshot,
            steps_done=0,
            loss_before=measure.loss,
            accuracy_before=measure.accuracy,
            measure_s=time.monotonic() - started,
            train_s=0.0,
            classes=classes,
        )

    def _steps(self, trainer: Trainer, total: int, before: TrainingProgress, run: Epochs) -> bool:
        """Whether the steps are done, all or enough; if not, a checkpoint is kept."""
        saved_at = time.monotonic()
        while not run.is_over and (trainer.steps_done < total or run.is_due(trainer.steps_done)):
            halt = self.halt(before.measure_s)
            if halt is Halt.ENOUGH:
                break
            if halt is Halt.PAUSE or not run.judge(trainer):
                self._save(trainer, before, run)
                return False
            if run.is_over or trainer.steps_done >= total:
                continue
            worked_s = trainer.train_s
            trainer.step()
            self.report(trainer.steps_done, total)
            self.rest(trainer.train_s - worked_s)
            if time.monotonic() - saved_at >= self.checkpoint_s:
                self._save(trainer, before, run)
                saved_at = time.monotonic()
        return True

    def _save(self, trainer: Trainer, before: TrainingProgress, run: Epochs) -> None:
        progress = msgspec.structs.replace(
            before,
            steps_done=trainer.steps_done,
            train_s=trainer.train_s,
            memory_bytes=trainer.memory_bytes,
            watched=run.watched,
        )
        self.store.work.save_checkpoint(Checkpoint(progress, trainer.save(), run.best))

    def _paused(self) -> bool:
        return self.halt(0.0) is Halt.PAUSE

    def _spool(
        self,
        received: Parameters,
        trained: Tensors,
        own: Tensors | None,
        trainer: Trainer,
        before: TrainingProgress,
        after: Measure,
        *,
        samples: int,
        total: int,
    ) -> None:
        manifest, assignment = self.model.manifest, self.assignment
        update = make_update(
            received,
            trained,
            plan=self.plan,
            residual=self.store.work.residual(manifest.pair),
            seed=assignment.seed,
            model=manifest.model,
            classes=before.classes,
        )
        offer = OfferUpdate(
            assignment=assignment.assignment,
            sha256=hashlib.sha256(update.payload).hexdigest(),
            size_bytes=len(update.payload),
            samples=min(samples, trainer.steps_done * manifest.model.batch_size),
            steps_done=trainer.steps_done,
            steps_total=total,
            loss_before=before.loss_before,
            loss_after=after.loss,
            accuracy_before=before.accuracy_before,
            train_s=trainer.train_s,
            classes=before.classes,
            train_memory_bytes=trainer.memory_bytes,
        )
        self.store.work.spool(
            offer,
            pair=manifest.pair,
            payload=update.payload,
            residual=update.residual,
            own=None if own is None else PersonalTensors(manifest.version, encode_tensors(dict(own))),
        )
