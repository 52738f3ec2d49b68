"""Two organisations' agents that train one network together, from an empty directory to the table at the end."""

import csv
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from rich.table import Table

from coterie.child.run import run_child
from coterie.config.env import child_environment
from coterie.demo.api import AllianceRow, Api
from coterie.demo.devices import AgentFailed
from coterie.demo.export import ExportArguments, Exported
from coterie.demo.export_halves import JOB as EXPORT
from coterie.demo.platform_and_agents import platform_ready
from coterie.demo.screen import Screen
from coterie_recipes.two_parties.generator import CLASSES, Population, draw_population
from coterie_recipes.two_parties.generator import Party as Known
from coterie_recipes.two_parties.models import BATCH_SIZE, LOWER_RECIPE, UPPER_RECIPE
from coterie_wire.structs import from_json

NAME = "two_parties"
ASKED_SHARE = 0.1
"""Of the insurer's customers the share whose need it does not know."""
_POLL_S = 0.5


class AllianceReport(msgspec.Struct, frozen=True):
    """The outcome."""

    common: int
    epochs: int
    held_out: float
    """Accuracy on common people held out."""
    predicted: int
    """People without a label whose label was predicted."""
    right: float
    """Share of these predictions that is right, which only the generator knows."""
    relayed_bytes: int
    """Sealed, through the platform."""
    seconds: float

    def table(self) -> Table:
        """For the terminal."""
        table = Table("two parties", "", title="What the bank and the insurer reach together")
        table.add_row("people known to both", str(self.common))
        table.add_row(f"accuracy on those held out, after {self.epochs} epochs", f"{self.held_out:.1%}")
        table.add_row(f"right of {self.predicted} predictions for people without a label", f"{self.right:.1%}")
        table.add_row("relayed by the platform, sealed", f"{self.relayed_bytes / 1e6:.1f} MB")
        return table


class _Joined(msgspec.Struct, frozen=True):
    device: str


class Organisation:
    """One party's ``coterie-agent`` on its own home."""

    def __init__(self, name: str, home: Path, environment: Mapping[str, str]) -> None:
        self.name, self.home = name, home
        self.device = ""
        """What the platform knows it by, once it has joined."""
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        home.mkdir(parents=True)

    @property
    def predictions(self) -> Path:
        """The file that it writes predictions to."""
        return self.home / "predictions.csv"

    def join(self, url: str, token: str) -> str:
        """Join the platform; its public key. Raises AgentFailed."""
        joined = self._command("join", url, token, "--yes", "--name", self.name, "--json")
        self.device = from_json(joined, _Joined).device
        return self._command("ally").strip()

    def write_table(self, known: Known, labels: Sequence[str] = ()) -> None:
        """The table that it brings."""
        names = [f"c{number}" for number in range(known.columns.shape[1])]
        with (self.home / "table.csv").open("w", encoding="utf-8", newline="") as file:
            written = csv.writer(file)
            written.writerow(["customer", *names, *(["need"] if labels else [])])
            for row, (identifier, columns) in enumerate(zip(known.identifiers, known.columns, strict=True)):
                written.writerow([identifier, *(f"{number:.6g}" for number in columns), *labels[row : row + 1]])

    def ally(self, alliance: str, partner: str, *, has_labels: bool) -> None:
        """Agree, and begin in the background; its log goes to ``agent.log`` beside its state."""
        label = ["--label", "need", "--predictions", str(self.predictions)] if has_labels else []
        table = ["--table", str(self.home / "table.csv"), "--identifier", "customer"]
        self._start("ally", alliance, "--partner", partner, *table, *label)

    def resume(self, alliance: str, *, has_labels: bool) -> None:
        """Go on with what was agreed."""
        self._start("ally", alliance, *(["--predictions", str(self.predictions)] if has_labels else []))

    def kill(self) -> None:
        """As a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def check(self) -> bool:
        """Whether it has finished. Raises AgentFailed."""
        assert self._process is not None
        status = self._process.poll()
        if status:
            raise AgentFailed(f"{self.name}: {(self.home / 'agent.log').read_text(encoding='utf-8').strip()}")
        return status == 0

    def predicted(self) -> Mapping[str, str]:
        """By identifier, what was predicted."""
        with self.predictions.open(encoding="utf-8", newline="") as file:
            return {row["identifier"]: row["label"] for row in csv.DictReader(file)}

    def _start(self, *arguments: str) -> None:
        with (self.home / "agent.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._line(*arguments), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment
            )

    def _command(self, *arguments: str) -> str:
        done = subprocess.run(
            self._line(*arguments), env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise AgentFailed(f"{self.name}: {done.stderr.strip()}")
        return done.stdout

    def _line(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "coterie_agent", "--home", str(self.home), *arguments]


@dataclass(frozen=True, kw_only=True)
class AllianceDemo:
    """One run."""

    state: Path
    port: int
    seed: int
    screen: Screen

    @contextmanager
    def run(self) -> Iterator[AllianceReport]:
        """Play it; the platform goes on until the block ends. Raises ApiFailed, ServerFailed or AgentFailed."""
        started = time.monotonic()
        population = draw_population(self.seed)
        environment = child_environment(state=str(self.state))
        with ExitStack() as stack:
            self.screen.doing("The platform starts; the two halves are exported")
            url, api = stack.enter_context(
                platform_ready(state=self.state, port=self.port, screen=self.screen, environment=environment)
            )
            exported = run_child(EXPORT, ExportArguments(str(self.state), self.seed))
            versions = publish_halves(api, exported)
            self.screen.say("The halves of the network passed their pre-flight, and are ONNX graphs now")
            token = api.enrolment_token(uses=2, tag=NAME)
            bank = Organisation("bank", self.state / "bank", environment)
            insurer = Organisation("insurer", self.state / "insurer", environment)
            stack.callback(bank.kill)
            stack.callback(insurer.kill)
            keys = {party.name: party.join(url, token) for party in (bank, insurer)}
            needs = known_needs(population, self.seed)
            bank.write_table(population.bank)
            insurer.write_table(population.insurer, needs)
            alliance = begin(api, versions, bank=bank, insurer=insurer)
            bank.ally(alliance, keys["insurer"], has_labels=False)
            insurer.ally(alliance, keys["bank"], has_labels=True)
            self.screen.say("Both owners have agreed, each with the other's key")
            row = self._follow(api, alliance, (bank, insurer))
            self.screen.doing("")
            right = share_right(population, insurer.predicted())
            yield AllianceReport(
                common=row.common,
                epochs=row.epoch,
                held_out=row.accuracy or 0.0,
                predicted=len(insurer.predicted()),
                right=right,
                relayed_bytes=sum(party.sent_bytes for party in row.parties),
                seconds=time.monotonic() - started,
            )

    def _follow(self, api: Api, alliance: str, parties: Sequence[Organisation]) -> AllianceRow:
        while not all(party.check() for party in parties):
            row = api.alliance(alliance)
            self.screen.doing(row.reason_sentence)
            time.sleep(_POLL_S)
        return api.alliance(alliance)


def publish_halves(api: Api, exported: Exported, *, name: str = "two-parties") -> Mapping[str, str]:
    """Upload them as two pairs; by role the version that each begins with. Raises ApiFailed."""
    submitted = {}
    halves = (("columns", exported.device, (), LOWER_RECIPE), ("labels", exported.cloud, CLASSES, UPPER_RECIPE))
    for role, path, labels, recipe in halves:
        program = Path(path)
        submitted[role] = api.submit_pair(
            f"{name}-{role}", device=program, cloud=program, labels=labels, batch_size=BATCH_SIZE, recipe=recipe
        )
    for pair in submitted.values():
        api.wait_for_jobs(pair, until=lambda found: found.state == "ready")
        api.use_uploaded_weights(pair)
    return {role: api.newest_version(pair) for role, pair in submitted.items()}


def begin(api: Api, versions: Mapping[str, str], *, bank: Organisation, insurer: Organisation, **terms: float) -> str:
    """An alliance of the two; its identifier. Raises ApiFailed."""
    return api.begin_alliance(
        name="bank and insurer",
        columns_device=bank.device,
        columns_version=versions["columns"],
        labels_device=insurer.device,
        labels_version=versions["labels"],
        terms=terms,
    )


def known_needs(population: Population, seed: int) -> list[str]:
    """What the insurer's file says of each customer; blank for some."""
    unknown = np.random.default_rng(seed).random(len(population.needs)) < ASKED_SHARE
    return ["" if hidden else CLASSES[need] for need, hidden in zip(population.needs, unknown, strict=True)]


def share_right(population: Population, predicted: Mapping[str, str]) -> float:
    """Share of predictions that are right."""
    needs = dict(zip(population.insurer.identifiers, population.needs, strict=True))
    hits = [CLASSES[needs[identifier]] == label for identifier, label in predicted.items()]
    return float(np.mean(hits)) if hits else 0.0
