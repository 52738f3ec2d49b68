"""Training of personal models on virtual devices beside the version, as agents do between rounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from coterie.evaluation.datasets import Dataset
from coterie.simulation.device import Arrived, Device, joined, numbers_of
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.on_device import Graphs, Rows, run_training
from coterie.simulation.world import World
from coterie_agent.training.predictor import Predictor
from coterie_learning.client.optimisation import Diverged
from coterie_learning.client.personal import (
    Choice,
    GivenPersonal,
    choose,
    is_due,
    parts_of,
    personal_training,
    still_answers,
)
from coterie_learning.metrics import SampleFigures
from coterie_learning.personal import PersonalRules
from coterie_wire.tensors import Tensors

LOOK_S = 60.0
"""Seconds between checks whether a device's assignment is done."""
IsBusy = Callable[[Device], bool]


class Answering(NamedTuple):
    """The model used for predictions after a training."""

    choice: Choice
    parameters: Tensors | None
    """None: the version is used."""


def train_personal_model(given: GivenPersonal, graphs: Graphs, rows: Rows, *, held: Tensors) -> Answering:
    """Train a personal model and compare it with the version `held` at the end.

    Raises WireError ``plan.does_not_fit``.
    """
    training = personal_training(given, graphs.open_steps)
    try:
        trained = run_training(training, graphs, rows)
    except Diverged:
        trained = training.trained()
    predictor, held_out, own = graphs.predictor(held), training.parts.held_out, given.personal
    by_version, by_trained = (_measured(predictor, one, rows, held_out) for one in (held, trained))
    choice = choose(by_version, by_trained, None if own is None else _measured(predictor, own, rows, held_out))
    answers = {"trained": trained, "version": None, "personal model": own}
    return Answering(choice, answers[choice.answers])


def goes_on_answering(graphs: Graphs, rows: Rows, *, own: Tensors, version: Tensors) -> bool:
    """Whether a personal model is still used beside a new version until the next training; `rows` are the device's."""
    parts = parts_of(rows.ids)
    if parts.train is parts.held_out:
        return True
    predictor = graphs.predictor(version)
    by_own, by_version = (_measured(predictor, one, rows, parts.held_out) for one in (own, version))
    return still_answers(by_own, by_version)


def _measured(predictor: Predictor, parameters: Tensors, rows: Rows, ids: Sequence[int]) -> SampleFigures:
    predictor.set_parameters(parameters)
    found = predictor.measure_each(rows, ids, stop=lambda: False)
    assert found is not None, "nothing stops it"
    return found


@dataclass
class _State:
    """One device's models and current training."""

    held: NeuralLearner
    """The last version that it downloaded."""
    is_personal: bool = False
    """Whether its personal model is used."""
    trained_from: NeuralLearner | None = None
    trained_up_to: int | None = None
    """The newest sample at its latest training."""
    is_planned: bool = False


class PersonalTraining:
    """Personal training; one in progress is finished even if a newer version arrives, and compared with it."""

    def __init__(self, world: World, rules: PersonalRules, is_busy: IsBusy) -> None:
        self._world, self._rules, self._is_busy = world, rules, is_busy
        self._states: dict[int, _State] = {}

    def receive(self, device: Device, version: NeuralLearner) -> None:
        """Receive a version; it is used where it does better than the personal model."""
        state = self._states.setdefault(device.number, _State(version))
        state.held = version
        state.is_personal = state.is_personal and self._still_answers(device, version)
        if not state.is_personal:
            device.learner = replace(version, seen=cast(NeuralLearner, device.learner).seen)
        self._plan(device, state)

    def on_batch(self, device: Device) -> None:
        """Receive new samples."""
        state = self._states.get(device.number)
        if state is not None:
            self._plan(device, state)

    def _still_answers(self, device: Device, version: NeuralLearner) -> bool:
        data = list(device.window)
        rows = Rows(joined([arrived.batch for arrived in data]), version.graphs.spec, numbers_of(data))
        own = cast(NeuralLearner, device.learner).parameters
        return goes_on_answering(version.graphs, rows, own=own, version=version.parameters)

    def _plan(self, device: Device, state: _State) -> None:
        if not state.is_planned:
            state.is_planned = True
            self._world.clock.at(self._world.clock.now_s, lambda: self._start(device, state))

    def _start(self, device: Device, state: _State) -> None:
        clock, rules = self._world.clock, self._rules
        data = list(device.window)
        ids = numbers_of(data)
        up_to = state.trained_up_to if state.trained_from is state.held else None
        if not ids or not is_due(ids, trained_up_to=up_to, again_share=rules.again_share):
            state.is_planned = False
            return
        if self._is_busy(device):
            clock.at(clock.now_s + LOOK_S, lambda: self._start(device, state))
            return
        begun = state.held
        work_s = self._world.training_s(device, len(parts_of(ids).train) * rules.epochs)
        self._world.ledger.train(work_s)
        seed = self._world.training_seed(device)
        done_s = device.day.done_at(clock.now_s, work_s)
        clock.at(done_s, lambda: self._finish(device, state, begun, data, seed))

    def _finish(self, device: Device, state: _State, begun: NeuralLearner, data: list[Arrived], seed: int) -> None:
        graphs, numbers = begun.graphs, numbers_of(data)
        dataset: Dataset = joined([arrived.batch for arrived in data])
        learner = cast(NeuralLearner, device.learner)
        given = GivenPersonal(
            rules=self._rules,
            model=graphs.spec,
            received=begun.parameters,
            personal=learner.parameters if state.is_personal else None,
            ids=numbers,
            seed=seed,
        )
        found = train_personal_model(given, graphs, Rows(dataset, graphs.spec, numbers), held=state.held.parameters)
        state.trained_from, state.trained_up_to = begun, numbers[-1]
        state.is_personal, state.is_planned = found.parameters is not None, False
        parameters = state.held.parameters if found.parameters is None else found.parameters
        device.learner = replace(learner, parameters=parameters, received=state.held.parameters)
        self._plan(device, state)
