"""The whole way for real: from the notebook's PyTorch pair to predictions of a device that learned with others."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

from coterie.demo.baselines import InitialModel, read_start
from coterie.demo.digits import Deal, deal
from coterie.sdk import Checked, Federation, Pair, Platform
from coterie_agent.home import Home
from coterie_agent.store.opened import open_store
from coterie_agent.store.samples import Row
from coterie_agent.training.trainer import open_steps, train_graph
from coterie_learning.client.round import ClientRound, Given
from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.device_plan import DevicePlan
from coterie_learning.device_state import States
from coterie_learning.help.none import NoHelp
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.privacy.none import NoPrivacy
from coterie_wire.conditions import Requirements
from coterie_wire.messages import OfferUpdate
from tests.coterie_agent.stepping import take_part
from tests.coterie_learning.merge.folding import folded
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.notebook import Notebook
from tests.system.processes import ROOT
from tests.system.real_agent import RealAgent

DEVICES, ROUNDS = 3, 2
SIMULATED_ROUNDS, LAST_ROUNDS = 8, 4
NOTEBOOK = ROOT / "docs" / "how-to" / "bring-your-model.ipynb"


class Published(NamedTuple):
    """What the notebook left when it began to wait for devices, and the data around it."""

    notebook: Notebook
    pair: str
    federation: str
    secret: str
    """With which three devices may join."""
    dealt: Deal
    start: InitialModel
    """Its first device model."""


@pytest.fixture(scope="module")
def published(site: Site) -> Iterator[Published]:
    """The notebook for ML engineers, run up to there. Its held-out and initial samples are those of `deal`."""
    notebook = Notebook(NOTEBOOK)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("COTERIE_URL", site.url)
        environment.setenv("COTERIE_TOKEN", site.token)
        names = notebook.run(until="needs-devices")
    pair, checked, federation = names["pair"], names["checked"], names["federation"]
    assert isinstance(pair, Pair) and isinstance(checked, Checked) and isinstance(federation, Federation)
    offline = checked.result.report
    assert (pair.spec, pair.report.operators) == (checked.result.model, offline.operators), "both compile the same"
    assert (pair.report.device_parameters, pair.report.cloud_parameters) == (38_282, offline.cloud_parameters)
    versions = [(one["role"], one["number"], one["origin"]) for one in site.operator.list("/versions/", pair=pair.id)]
    assert versions == [("device", 1, "distillation"), ("cloud", 1, "bootstrap")]
    archive = site.operator.http.get(f"/versions/{pair.device_champion}/archive/")
    assert archive.status_code == 200, archive.text
    start, dealt = read_start(archive.content), deal(devices=DEVICES, seed=0)
    platform = names["platform"]
    assert isinstance(platform, Platform)
    with closing(platform):
        yield Published(notebook, pair.id, federation.id, str(names["secret"]), dealt, start)


@pytest.fixture
def agents(site: Site, published: Published, tmp_path: Path) -> Iterator[Sequence[RealAgent]]:
    with ExitStack() as running:
        made = []
        for number, samples in enumerate(published.dealt.devices):
            home = tmp_path / f"agent-{number}"
            agent = RealAgent(home, site.url, published.secret, learns=(samples.x, samples.y))
            running.callback(agent.kill)
            made.append(agent)
        yield made


def test_from_the_notebook_to_predictions(
    site: Site,
    published: Published,
    agents: Sequence[RealAgent],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for agent in agents:
        agent.start()
    held = [site.operator.ended_round(published.federation, number, within_s=60) for number in range(1, ROUNDS + 1)]
    assert [(round_["state"], round_["reason_sentence"]) for round_ in held] == [("published", "")] * ROUNDS
    monkeypatch.chdir(tmp_path)  # the notebook writes a table
    names = published.notebook.run()
    told = capsys.readouterr().out.splitlines()
    assert [line.partition("{")[0] for line in told[:ROUNDS]] == [
        f"round {number} is published " for number in range(1, ROUNDS + 1)
    ]
    accuracy = held[-1]["metrics"]["accuracy"]
    assert names["right"] == pytest.approx(accuracy), "the notebook's own module predicts as devices do"
    assert (tmp_path / "rounds.csv").read_text().splitlines()[1].startswith("1,published,,")
    assert accuracy > published.start.accuracy(published.start.parameters, published.dealt.held_out)

    newest = held[-1]["result_version"]
    agents[0].kill()
    agents[0].start()  # a device that looks in at once gets the last round's model
    eventually(lambda: (agents[0].status()["status"] or {}).get("version") == newest)
    held_out = published.dealt.held_out
    np.savez(tmp_path / "unseen.npz", x=held_out.x)
    predicted = agents[0].command("predict", str(tmp_path / "unseen.npz"))
    assert predicted["version"] == newest
    hits = [int(one["label"]) == label for one, label in zip(predicted["predictions"], held_out.y, strict=True)]
    assert np.mean(hits) == pytest.approx(accuracy)


class Learned(NamedTuple):
    """What a simulated federation came to."""

    accuracy: float
    """Mean over the last rounds: that of one hangs on a handful of samples."""
    update_bytes: int
    """Of one update with all that travels along."""


@pytest.fixture
def simulate(published: Published, tmp_path: Path) -> Callable[[Codec], Learned]:
    """Holds rounds in this process with the agent's training and the platform's merging."""

    def hold_rounds(codec: Codec) -> Learned:
        start, local = published.start, Sgd(epochs=3, learning_rate=0.03, momentum=0.9)
        plan = DevicePlan(local=local, codec=codec, privacy=NoPrivacy(), requirements=Requirements(), help=NoHelp())
        states: list[States] = [{}] * DEVICES
        parameters, sizes = start.parameters, []
        with ExitStack() as opened:
            stores = []
            for number, samples in enumerate(published.dealt.devices):
                home = Home(tmp_path / f"{type(codec).__name__}-{number}")
                stores.append(opened.enter_context(open_store(home)))
                rows = [Row(x.tobytes(), int(y)) for x, y in zip(samples.x, samples.y, strict=True)]
                stores[-1].samples.add(rows, max_samples=len(rows))
            graph = train_graph(start.train_step, start.manifest.model, threads=1)
            steps = open_steps(graph, frozen_tensors={})
            accuracies = []
            for round_ in range(SIMULATED_ROUNDS):
                updates, counts = [], []
                for number, store in enumerate(stores):
                    given = Given(
                        plan=plan,
                        model=start.manifest.model,
                        received=parameters,
                        ids=store.samples.ids(store.samples.snapshot()),
                        seen=store.samples.labels(),
                        seed=10 * round_ + number,
                        secret=10 * round_ + number,
                        states=states[number],
                    )
                    update, count = take_part(ClientRound(given, steps), store.samples)
                    states[number] = update.states
                    sizes.append(len(update.payload) + offer_bytes(update.payload))
                    decoded = codec.decode(update.payload, expected=start.manifest.model.parameters)
                    updates.append(decoded)
                    counts.append(count)
                parameters = folded(FedAvg(), parameters, updates, counts).parameters
                accuracies.append(start.accuracy(parameters, published.dealt.held_out))
        return Learned(float(np.mean(accuracies[-LAST_ROUNDS:])), max(sizes))

    return hold_rounds


def offer_bytes(payload: bytes) -> int:
    """The largest offer that announces an update."""
    offer = OfferUpdate(
        assignment="0" * 36,
        sha256=hashlib.sha256(payload).hexdigest(),
        size_bytes=len(payload),
        samples=10**6,
        steps_done=10**6,
        steps_total=10**6,
        loss_before=1 / 3,
        loss_after=1 / 3,
        accuracy_before=1 / 3,
        train_s=1 / 3,
    )
    return len(msgspec.json.encode(offer))


@pytest.mark.long
def test_int8_costs_a_quarter_of_float32_and_no_accuracy(simulate: Callable[[Codec], Learned]) -> None:
    exact, quantised = simulate(Float32Codec()), simulate(Int8())
    assert quantised.update_bytes <= 0.27 * exact.update_bytes
    assert abs(quantised.accuracy - exact.accuracy) <= 0.01
