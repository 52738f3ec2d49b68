"""The whole way for real: from an uploaded PyTorch pair to predictions of a device that learned with others."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

from coterie.demo.baselines import Start, read_start
from coterie.demo.digits import CLASSES, Deal, Samples, deal
from coterie.demo.export import JOB, ExportArguments
from coterie.learning.child.run import run_child
from coterie.learning.merge import Contribution
from coterie.learning.merge.fed_avg import FedAvg
from coterie.learning.merging import merge_blocks
from coterie_agent.home import Home
from coterie_agent.store.opened import Store, open_store
from coterie_agent.store.samples import Row
from coterie_agent.training.batches import split, steps_per_epoch
from coterie_agent.training.trainer import Trainer, train_graph
from coterie_agent.training.update import make_update
from coterie_wire.codec import Codec, Tensors
from coterie_wire.codec.float32 import Float32Codec
from coterie_wire.codec.int8 import Int8
from coterie_wire.conditions import Requirements
from coterie_wire.help.none import NoHelp
from coterie_wire.local.sgd import Sgd
from coterie_wire.messages import OfferUpdate
from coterie_wire.plan import DevicePlan
from coterie_wire.privacy.none import NoPrivacy
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.real_agent import RealAgent

DEVICES, ROUNDS = 3, 2
SIMULATED_ROUNDS, LAST_ROUNDS = 8, 4
LOCAL = Sgd(epochs=2, learning_rate=0.03, momentum=0.9)


class Published(NamedTuple):
    """A pair that went through pre-flight, bootstrap and distillation, and the data around it."""

    pair: str
    held_out: str
    dealt: Deal
    start: Start
    """Its first device model."""


@pytest.fixture(scope="module")
def published(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Published:
    directory = tmp_path_factory.mktemp("pair")
    dealt = deal(devices=DEVICES, seed=0)
    exported = run_child(JOB, ExportArguments(str(directory), seed=0))
    post = site.operator.http.post

    def file(path: str) -> tuple[str, bytes]:
        return Path(path).name, Path(path).read_bytes()

    def add_dataset(name: str, samples: Samples) -> str:
        path = directory / f"{name}.npz"
        np.savez(path, x=samples.x, y=samples.y)
        dataset: str = post("/datasets/", data={"name": name}, files={"file": file(str(path))}).json()["id"]
        return dataset

    fields = {"name": "digits", "labels": [str(digit) for digit in range(CLASSES)], "batch_size": 16}
    submitted = post("/pairs/", data=fields, files={"device": file(exported.device), "cloud": file(exported.cloud)})
    assert submitted.status_code == 201, submitted.text
    pair: str = submitted.json()["id"]
    cloud = add_dataset("cloud", dealt.cloud)
    eventually(lambda: _reached(site, pair, "state", "ready"), within_s=120, every_s=0.2)
    site.operator.post(f"/pairs/{pair}/bootstrap/", {"dataset": cloud, "epochs": 20})
    ready = eventually(lambda: _reached(site, pair, "device_champion", None), within_s=120, every_s=0.2)
    versions = [(one["role"], one["number"], one["origin"]) for one in site.operator.list("/versions/", pair=pair)]
    assert versions == [("device", 1, "distillation"), ("cloud", 1, "bootstrap")]
    archive = site.operator.http.get(f"/versions/{ready['device_champion']}/archive/")
    assert archive.status_code == 200, archive.text
    return Published(pair, add_dataset("digits held out", dealt.held_out), dealt, read_start(archive.content))


def _reached(site: Site, pair: str, field: str, wanted: str | None) -> dict[str, Any] | None:
    """The pair, once a field has the wanted value, or any."""
    found = site.operator.get(f"/pairs/{pair}/")
    jobs = site.operator.list("/jobs/", pair=pair)
    assert found["state"] != "rejected", found
    assert all(job["state"] != "failed" for job in jobs), jobs
    return found if found[field] and wanted in (None, found[field]) else None


@pytest.fixture
def agents(site: Site, published: Published, tmp_path: Path) -> Iterator[Sequence[RealAgent]]:
    token = site.operator.enrolment_token(tag="digits", uses=DEVICES)
    with ExitStack() as running:
        made = []
        for number, samples in enumerate(published.dealt.devices):
            agent = RealAgent(tmp_path / f"agent-{number}", site.url, token, learns=(samples.x, samples.y))
            running.callback(agent.kill)
            made.append(agent)
        yield made


def test_from_uploaded_pair_to_predictions(
    site: Site, published: Published, agents: Sequence[RealAgent], tmp_path: Path
) -> None:
    plan = {
        "local": msgspec.to_builtins(LOCAL),
        "pace": {"kind": "sync", "target_updates": DEVICES, "min_updates": DEVICES, "over_selection": 1},
    }
    federation = site.operator.start_federation(
        "digits", pair=published.pair, plan=plan, held_out=published.held_out, rounds_wanted=ROUNDS
    )
    for agent in agents:
        agent.start()
    rounds = [site.operator.ended_round(federation, number, within_s=60) for number in range(1, ROUNDS + 1)]
    assert [round_["state"] for round_ in rounds] == ["published"] * ROUNDS
    accuracy = rounds[-1]["metrics"]["accuracy"]
    assert accuracy > published.start.accuracy(published.start.parameters, published.dealt.held_out)

    newest = rounds[-1]["result_version"]
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
        parameters, residuals, sizes = start.parameters, [None] * DEVICES, []
        with ExitStack() as opened:
            stores = []
            for number, samples in enumerate(published.dealt.devices):
                home = Home(tmp_path / f"{type(codec).__name__}-{number}")
                stores.append(opened.enter_context(open_store(home)))
                rows = [Row(x.tobytes(), int(y)) for x, y in zip(samples.x, samples.y, strict=True)]
                stores[-1].samples.add(rows, max_samples=len(rows))
            accuracies = []
            for round_ in range(SIMULATED_ROUNDS):
                contributions = []
                for number, store in enumerate(stores):
                    trained, count = train(store, start, parameters, local, seed=10 * round_ + number)
                    update = make_update(
                        parameters,
                        trained,
                        plan=plan,
                        residual=residuals[number],
                        seed=10 * round_ + number,
                        model=start.manifest.model,
                    )
                    residuals[number] = update.residual
                    sizes.append(len(update.payload) + offer_bytes(update.payload))
                    decoded = codec.decode(update.payload, expected=start.manifest.model.parameters)
                    contributions.append(Contribution(decoded, count))
                parameters = merge_blocks(FedAvg(), start.manifest.model, parameters, iter([iter(contributions)]))
                accuracies.append(start.accuracy(parameters, published.dealt.held_out))
        return Learned(float(np.mean(accuracies[-LAST_ROUNDS:])), max(sizes))

    return hold_rounds


def train(store: Store, start: Start, parameters: Tensors, local: Sgd, *, seed: int) -> tuple[Tensors, int]:
    """One device's part in a round, and the samples it learned from."""
    spec = start.manifest.model
    ids = split(store.samples.ids(store.samples.snapshot())).train
    graph = train_graph(start.train_step, spec, threads=1)
    trainer = Trainer(graph, spec, parameters, {}, samples=store.samples, train=ids, weights=local.weights, seed=seed)
    for _ in range(local.epochs_wanted() * steps_per_epoch(len(ids), spec.batch_size)):
        trainer.step()
    return trainer.parameters(), len(ids)


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


def test_int8_costs_a_quarter_of_float32_and_no_accuracy(simulate: Callable[[Codec], Learned]) -> None:
    exact, quantised = simulate(Float32Codec()), simulate(Int8())
    assert quantised.update_bytes <= 0.27 * exact.update_bytes
    assert abs(quantised.accuracy - exact.accuracy) <= 0.01
