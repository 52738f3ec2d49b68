"""A recipe with a platform and real agents, from an empty directory to the table at the end."""

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from rich.table import Table

from coterie.child.run import run_child
from coterie.config.env import child_environment
from coterie.demo.api import Api
from coterie.demo.baselines import read_start
from coterie.demo.devices import DemoDevice
from coterie.demo.platform_and_agents import join_all, platform_ready
from coterie.demo.screen import Screen, counted
from coterie.demo.script_player import ScriptPlayer
from coterie.demo.setting_up import stop_all
from coterie.demo.view import View
from coterie.recipes.export import JOB as EXPORT
from coterie.recipes.export import ExportArguments, Exported
from coterie.recipes.shipped import PLAN, PRETRAINING_PLAN, Scores, plan_of
from coterie.recipes.table import score_table
from coterie.recipes.trial import CLOUD, NEW, NEW_PEOPLE, RecipeTrial
from coterie.recipes.writing import together, write_samples
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.on_device import Graphs
from coterie_learning.plan import Document, plan_document
from coterie_recipes import Recipe, load
from coterie_recipes.recipe import Person, Samples
from coterie_wire.structs import from_values

FLEET = "fleet"
"""Tag of the devices."""
HURRY = {"over_selection": 1.3, "deadline_s": 60.0, "absent_s": 5.0, "pause_s": 0.0}
"""Of the pace: a demo's devices do not wait for the night."""
TOLERANCE = 0.3
"""By which a round may be worse on new people's samples: the first rounds of people who differ are."""


class RecipeReport(msgspec.Struct, frozen=True):
    """The outcome, on everybody's newest samples."""

    recipe: str
    metric: str
    scores: Scores
    rounds_published: int
    dropouts: int
    """Devices that were invited to a round and did not deliver."""
    seconds: float
    """From the demo's start to this report."""

    def table(self) -> Table:
        """For the terminal."""
        return score_table(load(self.recipe), self.scores, None)


@dataclass(frozen=True, kw_only=True)
class RecipeDemo:
    """One run."""

    recipe: Recipe
    state: Path
    port: int
    devices: int
    rounds: int
    seed: int
    screen: Screen

    @contextmanager
    def run(self) -> Iterator[RecipeReport]:
        """Play it; platform and devices go on until the block ends.

        Raises ApiFailed, ServerFailed or AgentFailed.
        """
        started = time.monotonic()
        people = [self.recipe.draw(self.seed, number) for number in range(self.devices)]
        new = [self.recipe.draw(self.seed, NEW + number) for number in range(NEW_PEOPLE)]
        environment = child_environment(state=str(self.state))
        with ExitStack() as stack:
            pool = stack.enter_context(ThreadPoolExecutor(max_workers=3))
            self.screen.doing("The platform starts; the two models are exported")
            arguments = ExportArguments(self.recipe.name, str(self.state), self.seed)
            exported = pool.submit(run_child, EXPORT, arguments)
            url, api = stack.enter_context(
                platform_ready(state=self.state, port=self.port, screen=self.screen, environment=environment)
            )
            fleet = [
                DemoDevice(
                    name=f"device-{number}",
                    home=self.state / "devices" / str(number),
                    samples=person.train if self.recipe.pretraining is None else person.pretrained_on,
                    environment=environment,
                )
                for number, person in enumerate(people, 1)
            ]
            stack.callback(stop_all, fleet)
            ending = threading.Event()
            token = api.enrolment_token(uses=len(fleet), tag=FLEET)
            joined = pool.submit(join_all, {FLEET: fleet}, url, {FLEET: token}, ending)
            stack.callback(wait, [joined])  # else it could start a device after all have been stopped
            stack.callback(ending.set)
            pair = self._publish_pair(api, exported.result())
            trial = self._trial(api, pair, people, new)
            compared = pool.submit(trial.compare, lambda _: None)
            joined.result()
            named = zip(fleet, people, strict=True)
            self.screen.holdings({device.name: self._holding(person) for device, person in named})
            if self.recipe.pretraining is not None:
                self._pretrain(api, pair, new, fleet)
                for device, person in zip(fleet, people, strict=True):
                    device.replace_samples(person.train)
            labelled = together([person.train for person in new])
            view = self._federate(api, pair, fleet, name=self.recipe.name, plan=PLAN, held_out=labelled)
            self.screen.doing("" if compared.done() else "What it is compared with is still being trained")
            last = read_start(api.archive(api.newest_version(pair))).parameters
            scores, _ = trial.judge(last, compared.result())
            yield self._report(view, scores, time.monotonic() - started)

    def _publish_pair(self, api: Api, files: Exported) -> str:
        recipe = self.recipe
        pair = api.submit_pair(
            recipe.name,
            device=Path(files.device),
            cloud=Path(files.cloud),
            labels=recipe.classes,
            batch_size=recipe.batch_size,
            recipe=recipe.training or None,
        )
        api.wait_for_jobs(pair, until=lambda found: found.state == "ready", tell=self.screen.doing)
        self.screen.say("The model pair passed its pre-flight: the device model is now two ONNX graphs")
        if recipe.original is not None or recipe.pretraining is not None:
            api.use_uploaded_weights(pair)
            self.screen.say(
                "The first device model knows nothing: the fleet pre-trains it"
                if recipe.original is None
                else "The first device model is what was brought: a frozen backbone, and adapters that add nothing"
            )
            self.screen.doing("")
            return pair
        volunteers = [recipe.draw(self.seed, CLOUD + number).train for number in range(recipe.cloud_people)]
        samples = together(volunteers)
        api.bootstrap(pair, dataset=api.add_dataset("cloud", write_samples(self.state / "cloud.npz", samples)))
        api.wait_for_jobs(pair, until=lambda found: found.device_champion is not None, tell=self.screen.doing)
        who = f"{len(samples.y)} samples of {counted(recipe.cloud_people, 'volunteer')}"
        self.screen.say(f"The cloud model has learnt from {who} and taught the first device model")
        self.screen.doing("")
        return pair

    def _trial(self, api: Api, pair: str, people: Sequence[Person], new: Sequence[Person]) -> RecipeTrial:
        """What the federation is compared with, from the same first version."""
        start = read_start(api.archive(api.first_version(pair)))
        plan = plan_of(self.recipe, devices=len(people))
        graphs = Graphs.of(
            start.manifest.model, train_step=start.train_step, predict=start.predict, frozen=start.frozen
        )
        first = NeuralLearner(
            graphs, plan.local, parameters=start.parameters, first=start.parameters, received=start.parameters
        )
        return RecipeTrial(self.recipe, seed=self.seed, people=people, new=new, plan=plan, first=first)

    def _pretrain(self, api: Api, pair: str, new: Sequence[Person], fleet: Sequence[DemoDevice]) -> None:
        """Rounds on samples that nobody has labelled."""
        name = f"{self.recipe.name}-pretraining"
        unlabelled = together([person.pretrained_on for person in new])
        self._federate(api, pair, fleet, name=name, plan=PRETRAINING_PLAN, held_out=unlabelled)
        self.screen.say("The fleet has learnt from samples without labels; now it learns from the few that have one")

    def _federate(
        self, api: Api, pair: str, fleet: Sequence[DemoDevice], *, name: str, plan: str, held_out: Samples
    ) -> View:
        """All rounds of a federation by the recipe's file `plan`; how it stands at the end."""
        file = write_samples(self.state / f"held-out-{name}.npz", held_out)
        federation = api.create_federation(
            name=name,
            pair=pair,
            device_tag=FLEET,
            held_out=api.add_dataset(f"held out: new people, {name}", file),
            plan=self._plan(plan),
            seed=self.seed,
            rounds_wanted=self.rounds,
            tolerance=TOLERANCE,
        )
        api.start_federation(federation)
        self.screen.say(f"{counted(self.devices, 'device')} joined; {counted(self.rounds, 'round')} to go")
        return ScriptPlayer(self.screen, self.rounds, self.seed, fleet).follow(lambda: api.view(federation, tag=FLEET))

    def _plan(self, file: str) -> Document:
        """The recipe's, in a hurry, of as many devices a round as can be asked while some are away."""
        document = plan_document(plan_of(self.recipe, devices=max(1, round(self.devices * 0.7)), file=file))
        return {**document, "pace": {**from_values(document["pace"], dict[str, object]), **HURRY}}

    def _holding(self, person: Person) -> str:
        if self.recipe.pretraining is not None:
            return f"{person.trained_on} samples, {len(person.train.y)} of them labelled"
        if not self.recipe.classes:
            return f"{len(person.train.y)} samples without labels"
        counts = np.bincount(person.train.y.astype(np.int64), minlength=len(self.recipe.classes))
        most = ", ".join(self.recipe.classes[label] for label in np.argsort(-counts)[:2].tolist())
        return f"mostly {most} ({len(person.train.y)} in all)"

    def _report(self, view: View, scores: Scores, seconds: float) -> RecipeReport:
        return RecipeReport(
            recipe=self.recipe.name,
            metric=self.recipe.metric,
            scores=scores,
            rounds_published=sum(row.state == "published" for row in view.rounds),
            dropouts=sum(row.count("released", "dropped", "rejected") for row in view.rounds),
            seconds=seconds,
        )
