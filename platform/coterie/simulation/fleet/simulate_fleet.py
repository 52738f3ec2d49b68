"""Runs the rounds of a plan on a fleet with fixed samples."""

import hashlib
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, cast

import msgspec
import numpy as np

from coterie.core.errors import CoterieError
from coterie.evaluation.device_accuracy import device_accuracy
from coterie.evaluation.scoring import Evaluation, predict_logits, score
from coterie.simulation.clock import DAY_S
from coterie.simulation.costs import Costs, cost_of_device
from coterie.simulation.errors import DamagedSimulation, DoesNotFit
from coterie.simulation.fleet.block import Base, Block, DeviceResult, Member
from coterie.simulation.fleet.checkpoint import SimulationCheckpoint, identify, load, save
from coterie.simulation.fleet.cohort import Bytes, Closed, Cohorts, CompletedTraining
from coterie.simulation.fleet.columns import Columns, Traits
from coterie.simulation.fleet.device_states import DeviceStates
from coterie.simulation.fleet.dividing import DividedData, divided, population_of
from coterie.simulation.fleet.files import open_work, write_files
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.on_clock import simulate_on_clock
from coterie.simulation.fleet.on_devices import measure_on_devices
from coterie.simulation.fleet.outcome import FleetOutcome, FleetRound
from coterie.simulation.fleet.own_models import OWN, own_of, trained_samples
from coterie.simulation.fleet.population import Population
from coterie.simulation.fleet.refusals import check_plan
from coterie.simulation.fleet.setting import Setting, train_ids
from coterie.simulation.fleet.side_by_side import OneByOne, SideBySide
from coterie.simulation.fleet.splits import Int64
from coterie.simulation.fleet.versions import Versions
from coterie.simulation.fleet.work import Executor
from coterie.simulation.fleet.workers import Inline, Processes, Workers
from coterie.simulation.ledger import Ledger
from coterie.simulation.lineage import ArrivedUpdate, Lineage
from coterie.simulation.privacy_spent import DELTA
from coterie.simulation.progress import Report, SimulationProgress
from coterie.simulation.rounds import MIN_PAUSE_S
from coterie.simulation.simulate import check_plan_fits
from coterie_learning.accounting import epsilon_of
from coterie_learning.client.order import steps_per_epoch
from coterie_learning.cohort import UpdateFigures
from coterie_learning.contribution import sent_bytes
from coterie_learning.plan import Plan, plan_document
from coterie_learning.random import derive_seed
from coterie_wire.tensors import Tensors, encode_tensors

NO_CLOUD = "there is no cloud model: give one with its data (--cloud CLOUD.pt2 --cloud-data SAMPLES.npz)"
ONE_BY_ONE = 32
"""Devices of a block that train one by one."""
SAVED_EVERY_S = 5.0
"""Least seconds of real time between two checkpoints."""


def simulate_fleet(run: FleetRun, *, report: Report, keep: Path | None = None) -> FleetOutcome:
    """Hold the rounds; the same run gives the same outcome, with any number of workers, resumed or not.

    `keep` is a directory for checkpoints: the same run in the same directory resumes. Raises DoesNotFit, also with
    `keep` where devices are simulated individually on a clock, MalformedFile where the directory is not writable,
    OtherSimulation, DamagedSimulation or WorkerLost.
    """
    _check(run)
    if keep is not None and run.is_on_a_clock:
        raise DoesNotFit(detail="with --drift, --cloud or meetings nothing is kept to go on from; leave --keep out")
    wants = run.plan.merge.root_samples() if run.plan.merge.compares_with_root else 0
    parts = divided(run.samples, held_out_share=run.held_out_share, platform=wants, seed=run.seed)
    population = population_of(run, parts.own)
    setting = Setting(run.plan, run.model, parts.own.data, population, run.seed)
    train_sizes = _train_sizes(population, run.plan)
    if not (train_sizes > 0).any():
        raise DoesNotFit(detail="no device has a sample to train on")
    if run.is_on_a_clock:
        return simulate_on_clock(run, setting, parts, report)
    most_steps = run.plan.local.steps_wanted(steps_per_epoch(int(train_sizes.max()), run.model.spec.batch_size))
    choice = _choose(run, most_steps)
    with ExitStack() as stack:
        directory = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="coterie-simulation-")))
        kept = None
        if keep is not None:
            identify(keep, _identity(run))
            kept = load(keep)
        write_files(directory, setting, executor=choice.executor, most_steps=most_steps)
        workers: Workers = (
            Processes.beginning(run.workers, str(directory)) if run.workers > 1 else Inline(open_work(directory))
        )
        stack.callback(workers.close)
        count = len(train_sizes)
        states = (
            DeviceStates.nothing(directory, devices=count) if kept is None else DeviceStates.at(directory, kept.states)
        )
        stack.callback(states.close)
        fleet = _Fleet(run, setting, train_sizes, choice, workers, parts, directory, states, report)
        if kept is not None:
            fleet.resume(kept)
        return fleet.run_to_end(keeps=keep is not None)


class _Choice(NamedTuple):
    executor: Executor
    reason: str
    block: int
    """Devices of a block."""


def _choose(run: FleetRun, most_steps: int) -> _Choice:
    if run.executor == "exact":
        return _Choice("exact", "", ONE_BY_ONE)
    try:
        found = SideBySide.of(run.plan, run.model.spec, run.model.train_step, most_steps=most_steps)
    except OneByOne as reason:
        if run.executor == "batched":
            raise DoesNotFit(detail=f"devices cannot train side by side: {reason}; leave --executor out") from reason
        return _Choice("exact", str(reason), ONE_BY_ONE)
    return _Choice("batched", "", found.devices)


def _check(run: FleetRun) -> None:
    """Refuse plans that this simulation cannot model. Raises DoesNotFit."""
    plan, has_cloud = run.plan, run.cloud is not None
    check_plan(plan, drifts=run.drift is not None, has_cloud=has_cloud, executor=run.executor)
    check_plan_fits(plan, run.model.spec, teacher_problem=None if has_cloud else NO_CLOUD, cloud_data=True)


def _train_sizes(population: Population, plan: Plan) -> Int64:
    """Number of training samples of each device; the rest are held out, as on agents."""
    sizes, places = np.unique(population.sizes, return_inverse=True)
    trained = [len(train_ids(int(size), plan.local)) if size else 0 for size in sizes]
    found: Int64 = np.array(trained, np.int64)[places]
    return found


def _identity(run: FleetRun) -> Mapping[str, str]:
    """Inputs that must be equal to resume a simulation, by name. The number of workers need not be."""
    samples = hashlib.sha256()
    for array in (*run.samples.data.inputs.values(), run.samples.data.labels, *run.samples.columns.values()):
        samples.update(np.ascontiguousarray(array).tobytes())
    model = hashlib.sha256(run.model.train_step + run.model.predict_graph + encode_tensors(run.parameters))
    told = {
        "plan": plan_document(run.plan),
        "split": run.split,
        "fleet": run.fleet,
        "devices": run.devices,
        "samples a device": run.each,
        "share held out": run.held_out_share,
        "rounds": run.rounds,
        "days": run.days,
        "seed": run.seed,
        "executor": run.executor,
        "rounds between measurements": run.evaluate_every,
    }
    return {
        "samples": samples.hexdigest(),
        "model": model.hexdigest(),
        **{name: msgspec.json.encode(what).decode() for name, what in told.items()},
    }


class _Fleet:
    """The simulation between two rounds."""

    def __init__(
        self,
        run: FleetRun,
        setting: Setting,
        train_sizes: Int64,
        choice: _Choice,
        workers: Workers,
        parts: DividedData,
        directory: Path,
        states: DeviceStates,
        report: Report,
    ) -> None:
        self._run, self._setting, self._choice, self._workers = run, setting, choice, workers
        self._held_out, self._platform, self._directory, self._report = (
            parts.held_out,
            parts.platform,
            directory,
            report,
        )
        plan, devices = run.plan, len(train_sizes)
        traits = Traits.draw(run.fleet, plan.requirements, devices=devices, seed=run.seed)
        rules = plan.personal.rules(plan.local)
        self._cohorts = Cohorts(
            plan,
            run.speed,
            traits,
            Columns.of(devices),
            train_sizes,
            run.model.spec.batch_size,
            run.seed,
            Ledger(),
            beside=None if rules is None else trained_samples(setting.population.sizes, rules),
        )
        self._lineage = Lineage(
            plan, run.model.spec, run.parameters, fleet=devices, seed=derive_seed(run.seed, "cloud")
        )
        self._needs_updates = (
            plan.merge.reads != "sums"
            or bool(plan.local.scalars)
            or bool(run.model.spec.statistics)
            or plan.privacy.bound() is not None
            or plan.privacy.masking() is not None
        )
        """Whether each update is wanted, rather than their sum."""
        self._has_own = rules is not None or plan.local.trains_personal_model()
        """Whether devices have models of their own, and so keep what they train even if it counts nowhere."""
        self._remembers = plan.local.remembers or not plan.codec.exact
        """Whether they remember of updates that the platform took."""
        self._states = states
        self._rounds: list[FleetRound] = []
        self._now_s = 0.0
        self._versions = Versions(directory)
        self._is_asynchronous = plan.pace.staleness_allowed() is not None
        self._usual_bytes = sent_bytes(plan, run.model.spec).usual

    def resume(self, kept: SimulationCheckpoint) -> None:
        """Resume from a checkpoint. Raises DamagedSimulation."""
        self._cohorts.columns = kept.columns
        self._cohorts.coming, self._cohorts.waiting = list(kept.coming), list(kept.waiting)
        self._cohorts.ledger = Ledger(kept.used)
        self._lineage.newest, self._lineage.digests = kept.newest, list(kept.digests)
        self._cohorts.releases = len(kept.digests)
        self._rounds, self._now_s = list(kept.rounds), kept.now_s
        lacking = [number for number in sorted(self._cohorts.versions()) if not self._versions.path(number).exists()]
        if lacking:
            raise DamagedSimulation(path=str(self._directory), detail=f"version {lacking[0]} is not there any more")

    def kept(self) -> SimulationCheckpoint:
        """The checkpoint of the current state."""
        cohorts = self._cohorts
        return SimulationCheckpoint(
            cohorts.columns,
            self._lineage.newest,
            self._states.note(),
            self._rounds,
            self._now_s,
            cohorts.ledger.used(),
            cohorts.coming,
            cohorts.waiting,
            self._lineage.digests,
        )

    def run_to_end(self, *, keeps: bool) -> FleetOutcome:
        """Hold rounds until enough were held or the simulated time is over."""
        ends_s, saved_s = self._run.days * DAY_S, time.monotonic()
        is_over = False
        while len(self._rounds) < self._run.rounds and not is_over:
            is_over = not self._hold(len(self._rounds) + 1, ends_s)
            share = 1.0 if is_over else max(len(self._rounds) / self._run.rounds, self._now_s / ends_s)
            self._report(SimulationProgress(min(1.0, share), len(self._rounds)))
            if keeps and time.monotonic() - saved_s < SAVED_EVERY_S:
                continue
            self._save(keeps)
            saved_s = time.monotonic()
        self._save(keeps)
        return self._outcome(is_over)

    def _save(self, keeps: bool) -> None:
        if keeps:
            save(self._directory, self.kept())
        # The checkpoint refers to no other version.
        self._versions.keep_only({self._lineage.newest.number, *self._cohorts.versions()})
        self._states.forget_others()

    def _hold(self, number: int, ends_s: float) -> bool:
        """Hold one round; False: there was none."""
        newest, server = self._lineage.newest, self._lineage.sent_state
        self._versions.put(Base(newest.parameters, server, newest.number, newest.bound))
        sent = sum(len(encode_tensors(tensors)) for tensors in server.values())
        whole = len(encode_tensors(newest.parameters))
        difference = whole if newest.difference_bytes is None else min(whole, newest.difference_bytes)
        sizes = Bytes(self._run.model.size_bytes, whole + sent, difference + sent, self._usual_bytes)
        closed = self._cohorts.hold(number, begins_s=self._now_s, ends_s=ends_s, version=newest.number, sizes=sizes)
        if closed is None:
            return False
        self._keep(closed)
        found, fault = self._merge(closed) if closed.is_merged else ((), None)
        is_merged = closed.is_merged and fault is None
        self._now_s = closed.ended_s + max(self._run.plan.pace.pause_after_s(), MIN_PAUSE_S)
        measured = None
        if is_merged and (number % self._run.evaluate_every == 0 or number == self._run.rounds):
            measured = self._measured()
        ages = [newest.number - one.version for one in closed.deliveries] if self._is_asynchronous else []
        self._rounds.append(
            FleetRound(
                number=number,
                opened_s=closed.opened_s,
                ended_s=closed.ended_s,
                invited=closed.invited,
                lost=closed.lost,
                delivered=len(closed.deliveries),
                diverged=sum(not one.samples for one in found),
                outcome="merged" if is_merged else "abandoned",
                accuracy=None if measured is None else measured.accuracy,
                loss=None if measured is None else measured.loss,
                staleness_mean=sum(ages) / len(ages) if ages else None,
                staleness_most=max(ages, default=None),
                fault=None if fault is None else fault.reason(),
            )
        )
        return True

    def _keep(self, closed: Closed) -> None:
        """Store device states of trainings that count in no version; computed only where there are such states."""
        if closed.taken and (self._has_own or self._remembers):
            self._remember(self._trained(sorted(closed.taken), [0] * len(closed.taken))[0], is_taken=True)
        kept = sorted([*closed.late, *(() if closed.is_merged else closed.deliveries)])
        if kept and self._has_own:
            self._remember(self._trained(kept, [0] * len(kept))[0], is_taken=False)

    def _remember(self, found: Sequence[DeviceResult], *, is_taken: bool) -> None:
        """Store all states of accepted updates, and only personal models otherwise."""
        for one in found:
            if is_taken and one.samples:
                if one.states:
                    self._states.put(one.device, one.states)
            elif OWN in one.states:
                self._states.put(one.device, {**self._states.of(one.device), OWN: one.states[OWN]})

    def _merge(self, closed: Closed) -> tuple[Sequence[DeviceResult], CoterieError | None]:
        """Compute the updates that count, and merge them into the next version; also returns why there is none."""
        # Those that one round asked together, and of these devices of as many steps side by side; the order is the
        # same, whatever the order of arrival.
        deliveries = sorted(closed.deliveries)
        if self._needs_updates:
            found, _ = self._trained(deliveries, None)
            told = [(one, delivery) for one, delivery in zip(found, deliveries, strict=True) if one.samples]
            fault = self._merged([(one.device, self._sent(one, delivery)) for one, delivery in told])
        else:
            found, fault = self._summed(deliveries)
        if self._run.plan.privacy.releases in ("sums", "masked_sums"):
            self._cohorts.charge([one.device for one in found if one.samples])
        self._remember(found, is_taken=fault is None)
        if fault is None:
            self._accept(found)
        return found, fault

    def _merged(self, updates: Sequence[tuple[int, ArrivedUpdate]]) -> CoterieError | None:
        """Merge single updates of these devices into the next version; returns why there is none."""
        lineage, cohorts = self._lineage, self._cohorts
        root = lineage.root(self._run.model.train_step, self._platform)
        merged = lineage.merge([sent for _, sent in updates], root)
        if len(lineage.digests) > cohorts.releases:
            cohorts.columns.released_in[[updates[place][0] for place in merged.counted]] = cohorts.releases
            cohorts.releases = len(lineage.digests)
        return merged.fault

    def _sent(self, one: DeviceResult, told: CompletedTraining) -> ArrivedUpdate:
        setting = self._setting
        seed = setting.seed_of(one.device, told.round)
        return ArrivedUpdate(one.payload, one.samples, setting.sent_classes(one.device), seed, self._discount(told))

    def _discount(self, told: CompletedTraining) -> int:
        return self._run.plan.pace.discount(self._lineage.newest.number - told.version)

    def _summed(self, deliveries: Sequence[CompletedTraining]) -> tuple[Sequence[DeviceResult], CoterieError | None]:
        """Sum updates whose weights depend on all norms, which are known only afterwards.

        Norms are first assumed to be ordinary; if they are not, the sums are recomputed with the right weights.
        """
        sizes, discounts = self._cohorts.train_sizes, [self._discount(one) for one in deliveries]
        batch = self._run.model.spec.batch_size
        weights = self._lineage.weights(
            [UpdateFigures(min(int(sizes[one.device]), one.steps * batch), 1.0) for one in deliveries], discounts
        )
        while True:
            found, sums = self._trained(deliveries, [one.weight for one in weights])
            right = self._lineage.weights([UpdateFigures(one.samples, one.norm) for one in found], discounts)
            if right == weights:
                return found, self._lineage.merge_sums(sums, weights, [one.norm for one in found if one.samples])
            weights = right

    def _trained(
        self, deliveries: Sequence[CompletedTraining], weights: Sequence[int] | None
    ) -> tuple[Sequence[DeviceResult], Mapping[str, Int64]]:
        """The results of all devices, in their order, and the sum of their updates where they have weights."""
        size, wants_losses = self._choice.block, self._run.plan.selection.reads_history
        members = [
            Member(
                one.device,
                one.round,
                str(self._versions.path(one.version)),
                one.steps,
                weight,
                self._states.of(one.device),
            )
            for one, weight in zip(deliveries, weights or [0] * len(deliveries), strict=True)
        ]
        blocks = [
            Block(number, members[begin : begin + size], weights is None, wants_losses)
            for number, begin in enumerate(range(0, len(members), size))
        ]
        found: dict[int, Sequence[DeviceResult]] = {}
        sums: dict[str, Int64] = {}
        for answer in self._workers.train(blocks):
            found[answer.number] = answer.found
            for name, content in answer.sums.items():  # integers: any order gives the same sum
                numbers = np.frombuffer(content, np.int64)
                sums[name] = sums[name] + numbers if name in sums else numbers
        return [one for at in sorted(found) for one in found[at]], sums

    def _accept(self, found: Sequence[DeviceResult]) -> None:
        """Record states and reports of devices whose updates count."""
        columns = self._cohorts.columns
        for one in found:
            if one.samples:
                columns.counted[one.device] += 1
                if self._run.plan.privacy.masking() is None:
                    self._cohorts.ledger.count("updates", one.size_bytes - self._usual_bytes, messages=0)
                if one.loss is not None:
                    columns.loss[one.device] = one.loss

    def _measured(self) -> Evaluation:
        run = self._run
        output = predict_logits(run.model.predict, self._lineage.newest.parameters, self._held_out)
        return score(output, self._held_out.labels, task=run.model.spec.task)

    def _epsilon(self) -> float | None:
        if self._run.plan.privacy.releases == "nothing":
            return None
        return epsilon_of(float(self._cohorts.columns.privacy_spent.max()), DELTA)

    def _own(self, device: int) -> Tensors | None:
        own = own_of(self._states.of(device))
        return None if own is None else own.parameters

    def _outcome(self, is_over: bool) -> FleetOutcome:
        run, measured, columns = self._run, self._measured(), self._cohorts.columns
        on_devices = measure_on_devices(self._setting, self._lineage.newest.parameters, self._own)
        used, participants = self._cohorts.ledger.used(), int((columns.counted > 0).sum())
        cost = cost_of_device(used, run.speed, Costs(), devices=participants)
        split = cast(dict[str, object], msgspec.to_builtins(run.split))
        return FleetOutcome(
            plan=plan_document(run.plan),
            pair=run.names[0],
            data=run.names[1],
            split=split if run.each is None else {**split, "each": run.each},
            devices=len(columns.held),
            samples=int(self._setting.population.sizes.sum()),
            held_out=len(self._held_out.labels),
            seed=run.seed,
            executor=self._choice.executor,
            executor_reason=self._choice.reason,
            rounds=tuple(self._rounds),
            ended="horizon" if is_over else "rounds",
            simulated_s=self._rounds[-1].ended_s if self._rounds else 0.0,
            accuracy=measured.accuracy or 0.0,
            loss=measured.loss,
            class_accuracy=measured.class_accuracy,
            device_accuracy=device_accuracy(on_devices.accuracies),
            devices_measured=len(on_devices.accuracies),
            devices_with_own=on_devices.own,
            epsilon=self._epsilon(),
            participants=participants,
            client_rounds=int(columns.counted.sum()),
            bytes_by_kind=used.bytes_by_kind,
            messages_by_kind=used.messages_by_kind,
            trained_s=used.trained_s,
            bytes_per_device=cost.bytes,
            joules_per_device=cost.joules,
        )
