"""A recipe's federation on this machine, round by round, beside each device alone and all data in one place.

Devices run the client round of the agents on the compiled graphs, and versions come of the fold of the platform.
Neither clock nor network is simulated: that does `coterie simulate`. Everything starts from the same parameters.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from coterie.compile.recipe import parse_recipe
from coterie.evaluation.datasets import Dataset
from coterie.recipes.federation import Federation, dataset_of
from coterie.recipes.pretraining import pretrained
from coterie.recipes.shipped import PRETRAINING_PLAN, Pretrained, Remembered, Scores, expected_of, plan_of
from coterie.simulation.device import joined
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.on_device import Graphs, Rows, run_training
from coterie.simulation.personal_training import train_personal_model
from coterie_learning.client.optimisation import Diverged
from coterie_learning.client.personal import GivenPersonal, personal_training
from coterie_learning.local import StepScalars
from coterie_learning.personal import PersonalRules
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_recipes import Recipe, load
from coterie_recipes.recipe import Person, Samples
from coterie_wire.structs import from_json
from coterie_wire.tensors import Float32, Tensors

if TYPE_CHECKING:
    from coterie.compile.compiled import CompiledModel

NEW = 10_000
"""Numbers of people who take no part begin here."""
NEW_PEOPLE = 10
CLOUD = 20_000
"""And of people whose samples the platform has from the beginning."""
ORIGINAL = 30_000
"""And of people of the task that a backbone was trained for."""
ORIGINAL_PEOPLE = 20
COMPARED_EPOCHS, COMPARED_PATIENCE = 40, 4
"""Of what the federation is compared with: passes at most, and without a lower loss on samples held out."""
STEP_SHARES = (1.0, 0.25)
"""Of the plan's step size, that are tried."""

Report = Callable[[str], None]


class TrialOutcome(NamedTuple):
    """The outcome of one trial."""

    scores: Scores
    by_round: tuple[float, ...]
    """Score of each version on the people's tests."""
    update_bytes: int
    """Mean of the updates."""
    personal_share: float
    """Of the devices on which a model of their own answers at the end."""
    original: Remembered | None
    """Where the recipe has a backbone."""


class HeldRounds(NamedTuple):
    """A federation's rounds."""

    version: Tensors
    by_round: tuple[float, ...]
    update_bytes: int


class Baselines(NamedTuple):
    """What a federation is compared with."""

    alone: float
    """Mean of the scores of models that each person's samples make."""
    centralised: Tensors
    """The parameters that everybody's samples make."""


class RecipeTrial:
    """One recipe with one seed."""

    def __init__(
        self,
        recipe: Recipe,
        *,
        seed: int,
        people: Sequence[Person],
        new: Sequence[Person],
        plan: Plan,
        first: NeuralLearner,
    ) -> None:
        """`people` take part, `new` do not; everything begins with `first`, pre-training where there is any."""
        self._recipe, self._seed, self._people, self._new = recipe, seed, people, new
        self._plan, self._first, self._graphs = plan, first, first.graphs
        self._rounds = expected_of(recipe).rounds

    def run(self, *, rounds: int, report: Report) -> TrialOutcome:
        """All of it; `report` is told what goes on."""
        self._rounds = rounds
        compared = self.compare(report)
        held = self.hold(rounds=rounds, report=report)
        report("personal models")
        scores, personal_share = self.judge(held.version, compared)
        return TrialOutcome(scores, held.by_round, held.update_bytes, personal_share, self.remembered(held.version))

    def hold(self, *, rounds: int, report: Report) -> HeldRounds:
        """The federation's rounds alone."""
        data = [self._dataset(one.train) for one in self._people]
        first = pretrained(self._recipe, self._first, self._people, seed=self._seed)
        federation = Federation(first, self._plan, data, self._seed)
        by_round = []
        for number in range(1, rounds + 1):
            federation.hold_round(number)
            by_round.append(self._mean(federation.parameters, self._people))
            report(f"round {number} of {rounds}: {by_round[-1]:.3f}")
        return HeldRounds(federation.parameters, tuple(by_round), round(mean(federation.sent_bytes or [0])))

    def score_of_new(self, version: Tensors) -> float:
        """The mean score of people who took no part."""
        return self._mean(version, self._new)

    def remembered(self, version: Tensors) -> Remembered | None:
        """What the model scores in its backbone's own task, with that task's output layer; None: it has no backbone."""
        original = self._recipe.original
        if original is None:
            return None
        people = [original.draw(self._seed, ORIGINAL + number) for number in range(ORIGINAL_PEOPLE)]
        head = original.head()

        def scored(parameters: Tensors) -> float:
            by_person = (self._outputs({**parameters, **head}, person) for person in people)
            return mean(original.score(outputs, person) for outputs, person in zip(by_person, people, strict=True))

        return Remembered(before=scored(self._first.first), after=scored(version))

    def compare(self, report: Report) -> Baselines:
        """Train each device alone, and one model on all data."""
        report("each device alone")
        alone = mean(
            self._score(self._compared([person], "alone", number), person) for number, person in enumerate(self._people)
        )
        report("all data in one place")
        return Baselines(alone, self._compared(self._people, "centralised", 0))

    def judge(self, version: Tensors, compared: Baselines) -> tuple[Scores, float]:
        """The scores where `version` is the last one; and on which share of the devices a model of its own answers."""
        answering = [self._answering(number, version) for number in range(len(self._people))]
        scores = Scores(
            baseline=mean(self._recipe.baseline(person) for person in self._people),
            alone=compared.alone,
            federation=self._mean(version, self._people),
            devices=mean(
                self._score(version if own is None else own, person)
                for own, person in zip(answering, self._people, strict=True)
            ),
            centralised=self._mean(compared.centralised, self._people),
            new_federation=self._mean(version, self._new),
            new_centralised=self._mean(compared.centralised, self._new),
        )
        return scores, mean(float(own is not None) for own in answering)

    def _mean(self, parameters: Tensors, people: Sequence[Person]) -> float:
        return mean(self._score(parameters, person) for person in people)

    def _score(self, parameters: Tensors, person: Person) -> float:
        return self._recipe.score(self._outputs(parameters, person), person)

    def _outputs(self, parameters: Tensors, person: Person) -> Float32:
        return self._graphs.outputs(parameters, self._dataset(person.test))

    def _dataset(self, samples: Samples) -> Dataset:
        return dataset_of(samples, self._first)

    def _compared(self, people: Sequence[Person], of: str, number: int) -> Tensors:
        """What all data of `people` in one place make, where the recipe pre-trains, of those without labels first."""
        first = self._first.parameters
        if self._recipe.pretraining is not None:
            before = plan_of(self._recipe, devices=1, file=PRETRAINING_PLAN)
            unlabelled = joined([self._dataset(person.pretrained_on) for person in people])
            first = self._best(before, first, unlabelled, f"{of}, before", number)
        return self._best(self._plan, first, joined([self._dataset(person.train) for person in people]), of, number)

    def _best(self, plan: Plan, received: Tensors, data: Dataset, of: str, number: int) -> Tensors:
        """Trained from `received`, stopped early: the better of two step sizes on what it held out.

        A step that is right where it is averaged over devices may be too large for one training alone. Where steps
        train nothing, it is a federation of one that has all the data, of as many rounds.
        """
        if not plan.local.trains:
            federation = Federation(self._first, plan, [data], derive_seed(self._seed, of, number))
            for round_number in range(1, self._rounds + 1):
                federation.hold_round(round_number)
            return federation.parameters
        tried = (self._trained(plan.local.step_scalars(0), received, data, of, number, share) for share in STEP_SHARES)
        return min(tried, key=lambda one: one[0])[1]

    def _trained(
        self, step: StepScalars, received: Tensors, data: Dataset, of: str, number: int, share: float
    ) -> tuple[float, Tensors]:
        """Loss on the samples held out, and the parameters."""
        step = msgspec.structs.replace(step, learning_rate=share * step.learning_rate, proximal_weight=0.0)
        rules = PersonalRules(COMPARED_EPOCHS, COMPARED_PATIENCE, step, "version", 1.0)
        given = self._given(rules, received, data, of, number)
        training = personal_training(given, self._graphs.open_steps)
        try:
            parameters = run_training(training, self._graphs, self._rows(data))
        except Diverged:
            parameters = training.trained()  # the best epoch before
        loss = training.checkpoint().progress.watched.best_loss
        return math.inf if loss is None else loss, parameters

    def _answering(self, number: int, version: Tensors) -> Tensors | None:
        rules = self._plan.personal.rules(self._plan.local)
        data = self._dataset(self._people[number].train)
        if rules is None or len(data.labels) < 2:
            return None
        given = self._given(rules, version, data, "personal", number)
        return train_personal_model(given, self._graphs, self._rows(data), held=version).parameters

    def _given(self, rules: PersonalRules, received: Tensors, data: Dataset, of: str, number: int) -> GivenPersonal:
        return GivenPersonal(
            rules=rules,
            model=self._graphs.spec,
            received=received,
            personal=None,
            ids=range(1, len(data.labels) + 1),
            seed=derive_seed(self._seed, of, number),
        )

    def _rows(self, data: Dataset) -> Rows:
        return Rows(data, self._graphs.spec, range(1, len(data.labels) + 1))


def made_up_trial(recipe: Recipe, *, seed: int, people: int | None = None) -> RecipeTrial:
    """A trial of `people`, or of as many as the recipe has, who are drawn."""
    drawn = [recipe.draw(seed, number) for number in range(people or recipe.people)]
    new = [recipe.draw(seed, NEW + number) for number in range(NEW_PEOPLE)]
    plan = plan_of(recipe, devices=len(drawn))
    return RecipeTrial(recipe, seed=seed, people=drawn, new=new, plan=plan, first=untrained(recipe, plan, seed=seed))


def worth_of_pretraining(recipe: Recipe, *, seed: int, rounds: int, report: Report) -> Pretrained | None:
    """Versions of the same made-up people with and without it, and where all their labels are known; None: it has none.

    With it and few labels is the recipe's own federation.
    """
    if recipe.pretraining is None:
        return None
    labelled = replace(recipe, draw=recipe.pretraining.draw)

    def score(arm: Recipe, *, pretrains: bool) -> float:
        chosen = arm if pretrains else replace(arm, pretraining=None)
        return made_up_trial(chosen, seed=seed).hold(rounds=rounds, report=report).by_round[-1]

    return Pretrained(
        without=score(recipe, pretrains=False),
        labelled=score(labelled, pretrains=True),
        labelled_without=score(labelled, pretrains=False),
    )


def untrained(recipe: Recipe, plan: Plan, *, seed: int) -> NeuralLearner:
    """The device model as it begins: parameters drawn from `seed`, where no file brought them, and compiled.

    Raises what compiling raises.
    """
    import torch  # only now: it takes seconds to import

    compiled = compiled_model(recipe.name, msgspec.json.encode(recipe.training))
    graphs = Graphs.of(compiled.spec, train_step=compiled.train_step, predict=compiled.predict, frozen=compiled.frozen)
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(seed, "model"))
        state = import_module(recipe.models).DeviceModel().state_dict()
    drawn = {name: tensor.numpy() for name, tensor in state.items()}
    first = {name: np.asarray(drawn.get(name, tensor)) for name, tensor in compiled.parameters.items()}
    return NeuralLearner(graphs, plan.local, parameters=first, first=first, received=first)


@cache
def compiled_model(name: str, training: bytes) -> "CompiledModel":
    """A recipe's device model, compiled as `training` says, which is JSON; only parameters differ between seeds."""
    from coterie.compile.compiled import compile_model  # only now: they import PyTorch
    from coterie.compile.program import export_module

    recipe = load(name)
    models = import_module(recipe.models)
    program = export_module(models.DeviceModel(), (models.example(),))
    return compile_model(program, parse_recipe(from_json(training, dict[str, object])), batch_size=recipe.batch_size)
