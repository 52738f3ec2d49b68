"""A virtual device is an agent: from the same inputs both give the same updates, byte for byte."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie.evaluation.datasets import Dataset
from coterie.simulation.device import KeptPortion
from coterie.simulation.on_device import Graphs, Rows, Taught
from coterie.simulation.participant import Participant
from coterie_agent.blobs import BlobCache
from coterie_agent.home import Home
from coterie_agent.model import fetch_model, parts
from coterie_agent.store.opened import Store, open_store
from coterie_agent.store.peers import KeptPortion as StoredPortion
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.store.samples import Row
from coterie_agent.store.work import Outcome
from coterie_agent.training.assignment import Training, read_states
from coterie_agent.training.halt import Halt
from coterie_agent.training.model import Model, read_parameters
from coterie_agent.training.predictor import Predictor
from coterie_agent.training.teaching import Teaching, parts_of
from coterie_learning.device_plan import DevicePlan, parse_device_plan
from coterie_learning.device_state import State, encode_state
from coterie_learning.teacher import Teacher, quantise_weights, restore_weights
from coterie_wire.bundle import BlobRef
from coterie_wire.helping import GiveVerdict
from coterie_wire.messages import Assignment
from coterie_wire.tensors import Float32, Tensors, encode_tensors
from coterie_wire.version import PROTOCOL
from tests.coterie_agent.bundles import SPEC, Bundle, make_bundle, parameters, predict_graph, samples, train_step_graph
from tests.coterie_agent.peers.world import GOOD, plan, rows

GRAPHS = Graphs.of(SPEC, train_step=train_step_graph(), predict=predict_graph())
VERSIONS = [make_bundle(version=f"v{number}", number=number, seed=number) for number in range(3)]
BATCHES = (30, 12, 9)
"""Samples that come before each of the rounds."""
ENDS: tuple[Outcome, ...] = ("accepted", "dropped", "accepted")
"""The second round is missed: its update comes too late."""
ADAPTED = {"kind": "distill", "learning_rate": 0.3, "epochs": 6, "patience": 2}
LOCALS: Mapping[str, Mapping[str, object]] = {
    "sgd": {"kind": "sgd", "epochs": 3, "learning_rate": 0.3, "momentum": 0.5},
    "prox": {"kind": "prox", "epochs": 3, "learning_rate": 0.3, "mu": 0.7},
    "scaffold": {"kind": "scaffold", "steps": 7, "learning_rate": 0.3},
    "fed_dyn": {"kind": "fed_dyn", "epochs": 2, "learning_rate": 0.3},
    "fed_nova": {"kind": "fed_nova", "epochs": 2, "learning_rate": 0.3, "momentum": 0.5},
    "q_fed_avg": {"kind": "q_fed_avg", "learning_rate": 0.3, "q": 2.0},
    "random_subset": {"kind": "random_subset", "share": 0.4, "epochs": 2, "learning_rate": 0.3},
    "per_fedavg": {"kind": "per_fedavg", "steps": 3},
    "shared_body": {"kind": "shared_body", "personal": "bias", "epochs": 2, "learning_rate": 0.3},
    "shared_body, one after the other": {"kind": "shared_body", "personal": "bias", "head_epochs": 1, "epochs": 2},
    "multitask": {"kind": "multitask", "epochs": 2, "learning_rate": 0.3, "mu": 0.7},
    "personal": {**ADAPTED, "lambda_d": 1.0},
    "taught": {**ADAPTED, "lambda_d": 0.4},
}
PORTION = KeptPortion(msgspec.json.encode(plan()), (2,), rows(GOOD))
HELPED = {name: tensor * np.float32(1.5) for name, tensor in parameters(9).items()}
"""What the personal model is once the portion is in it."""


def plan_of(local: str) -> DevicePlan:
    raw = {"local": LOCALS[local], "codec": {"kind": "int8"}, "privacy": {"kind": "clip", "norm": 3.0}}
    return parse_device_plan(msgspec.json.encode({**raw, "requirements": {}, "help": {"kind": "none"}}))


def seen_samples() -> tuple[Float32, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Of two classes, until the last round brings the third."""
    features, labels = samples(400)
    known = np.flatnonzero(labels < 2)[: sum(BATCHES[:2])]
    chosen = np.append(known, np.arange(len(labels))[-BATCHES[2] :])
    return features[chosen], labels[chosen]


def teacher() -> tuple[Teacher, Mapping[str, bytes]]:
    contents = (predict_graph(), quantise_weights(parameters(5)))
    refs = [BlobRef.of_bytes(content) for content in contents]
    found = Teacher(PROTOCOL, "pair", "t1", SPEC.inputs, SPEC.classes, SPEC.parameters, *refs)
    return found, {ref.sha256: content for ref, content in zip(refs, contents, strict=True)}


@dataclass
class RealAgent:
    """The agent's training on a store of its own."""

    home: Home
    store: Store
    plan: DevicePlan
    pauses: Callable[[int], bool]
    """Whether training is interrupted when it has asked so many times."""
    asked: int = 0

    def meet(self, features: Float32, labels: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        stored = [Row(x.tobytes(), int(label)) for x, label in zip(features, labels, strict=True)]
        self.store.samples.add(stored, max_samples=1000)

    def be_helped(self, base: str) -> None:
        peers = self.store.peers
        before = peers.personal() or peers.adopt(PersonalTensors(base, encode_tensors(HELPED)))
        kept = StoredPortion("t-1", PORTION.plan, PORTION.classes, PORTION.payload)
        peers.judge(GiveVerdict("t-1", True, 0.5, 0.9, 8), kept, before=before, tensors=encode_tensors(HELPED))

    def take_part(self, bundle: Bundle, number: int, seed: int) -> bytes:
        message = Assignment(f"a{number}", "digits", number, msgspec.Raw(b"{}"), bundle.signed, seed, 60.0)
        self.store.work.accept(message)
        while not self._training(message, bundle).run():
            pass
        offer = self.store.work.offer()
        assert offer is not None
        return self.store.work.read_payload(0, offer.size_bytes)

    def _training(self, message: Assignment, bundle: Bundle) -> Training:
        blobs = BlobCache(self.home.blobs)
        fetch_model(bundle.manifest, blobs, self._download(bundle.blobs), stop=lambda: False)
        return Training(
            assignment=message,
            plan=self.plan,
            model=Model(bundle.manifest, blobs),
            store=self.store,
            threads=1,
            checkpoint_s=1000,
            halt=self._halt,
            report=lambda done, total: None,
            record_durations=lambda durations: None,
            rest=lambda worked_s: None,
            teaching=self._teaching(blobs, bundle) if self.plan.local.needs_teacher() else None,
        )

    def _halt(self, _: float) -> Halt | None:
        self.asked += 1
        return Halt.PAUSE if self.pauses(self.asked) else None

    def _download(self, contents: Mapping[str, bytes]) -> Callable[[str, int], object]:
        return lambda sha256, offset: iter([contents[sha256][offset:]])

    def _teaching(self, blobs: BlobCache, bundle: Bundle) -> Teaching:
        found, contents = teacher()
        return Teaching(
            teacher=found,
            model=SPEC,
            blobs=blobs,
            samples=self.store.samples,
            store=self.store.teaching,
            fetch=lambda: all(
                blobs.fetch(ref, self._download(contents), stop=lambda: False) for ref in parts_of(found)
            ),
            own_parts=parts(bundle.manifest),
            spare_bytes=0,
            threads=1,
        )


@dataclass
class Virtual:
    """The simulator's participant, with the model that a virtual device has."""

    plan: DevicePlan
    portions: list[KeptPortion] = field(default_factory=list)
    personal: Tensors | None = None

    def __post_init__(self) -> None:
        self.participant = Participant(self.plan, self.portions)

    def take_part(
        self, received: Tensors, data: Dataset, seed: int, server: Mapping[str, Tensors] | None = None, number: int = 0
    ) -> bytes:
        numbers = range(1, len(data.labels) + 1)
        kept = Rows(data, SPEC, numbers)
        self.participant.accept()
        part = self.participant.take_part(
            GRAPHS,
            received,
            kept,
            seen=sorted(set(data.labels.tolist())),
            personal=self.personal,
            teacher=self._taught(kept) if self.plan.local.needs_teacher() else None,
            seed=seed,
            server=server,
            round_number=number,
        )
        if self.plan.local.trains_personal_model():
            self.personal = part.trained
        return part.payload

    def _taught(self, kept: Rows) -> Taught:
        weights = restore_weights(quantise_weights(parameters(5)), SPEC.parameters)
        predictor = Predictor(predict_graph(), SPEC, weights, {}, threads=1)
        found = [predictor.probabilities(kept.load(kept.ids[at : at + 32])) for at in range(0, len(kept.ids), 32)]
        return Taught(np.concatenate(found), kept.ids)


@pytest.mark.parametrize("local", LOCALS)
def test_three_rounds_give_the_same_updates(tmp_path: Path, local: str) -> None:
    """With a residual, a portion from a peer, a round missed, and restarts from checkpoints."""
    home, chosen = Home(tmp_path), plan_of(local)
    features, labels = seen_samples()
    with open_store(home) as store:
        real, virtual = RealAgent(home, store, chosen, pauses=lambda asked: asked % 7 == 5), Virtual(chosen)
        payloads = []
        for number, (bundle, count, end) in enumerate(zip(VERSIONS, BATCHES, ENDS, strict=True)):
            met = sum(BATCHES[:number])
            real.meet(features[met : met + count], labels[met : met + count])
            if number == 1:
                real.be_helped(bundle.manifest.version)
                virtual.portions.append(PORTION)
                virtual.personal = HELPED
            so_far = slice(0, met + count)
            control = {"control": parameters(20 + number)} if local == "scaffold" else {}
            if control:
                state = {f"control/{name}": tensor for name, tensor in parameters(20 + number).items()}
                bundle = make_bundle(version=f"v{number}", number=number, seed=number, server_state=state)
            payloads.append(real.take_part(bundle, number, seed=100 + number))
            data = Dataset({"pixels": features[so_far].reshape(-1, 2, 2)}, labels[so_far])
            assert virtual.take_part(parameters(number), data, 100 + number, control, number) == payloads[-1]
            store.work.finish(end, "", now=number)
            if end == "accepted":
                virtual.participant.accepted()
            if chosen.local.trains_personal_model():
                own = read_parameters(store.peers.personal_tensors(), SPEC)
                assert own is not None and virtual.personal is not None
                assert encode_tensors(dict(own)) == encode_tensors(dict(virtual.personal))
            states, kept = read_states(store, "digits"), virtual.participant.states
            assert {slot: encode_state(state) for slot, state in states.items()} == {
                slot: encode_state(state) for slot, state in kept.items() if not state.is_empty
            }
        assert real.asked > 10, "it was interrupted"
        assert len(set(payloads)) == 3


def first_update(local: dict[str, object], **begun: object) -> Tensors:
    """What a virtual device sends after a single step."""
    raw = {"local": local, "codec": {"kind": "float32"}, "privacy": {"kind": "none"}, "requirements": {}}
    chosen = parse_device_plan(msgspec.json.encode({**raw, "help": {"kind": "none"}}))
    features, labels = samples(4)
    virtual = Virtual(chosen, **begun)  # type: ignore[arg-type]  # the fields that a test sets
    data = Dataset({"pixels": features.reshape(-1, 2, 2)}, labels)
    payload = virtual.take_part(parameters(0), data, seed=1)
    return chosen.codec.decode(payload, expected=SPEC.parameters)


def test_the_proximal_term_pulls_to_what_was_received_and_not_to_where_training_starts() -> None:
    """With learning rate times mu at 1, a step ends at the anchor, but for the gradient of the data."""
    prox = {"kind": "prox", "learning_rate": 1e-3, "mu": 1000.0}
    helped = first_update(prox, portions=[PORTION])
    assert max(float(np.abs(tensor).max()) for tensor in helped.values()) < 0.01
    unheld = first_update({**prox, "mu": 0.0}, portions=[PORTION])
    assert float(np.abs(unheld["weight"][2]).max()) > 0.1, "the portion is far from what was received"


def test_what_the_codec_lost_of_an_update_that_was_not_accepted_is_not_carried_on() -> None:
    chosen, (features, labels) = plan_of("sgd"), samples(40)
    data = Dataset({"pixels": features.reshape(-1, 2, 2)}, labels)
    late, undisturbed = Virtual(chosen), Virtual(chosen)
    late.take_part(parameters(0), data, seed=1)
    assert late.take_part(parameters(1), data, seed=2) == undisturbed.take_part(parameters(1), data, seed=2)
    undisturbed.participant.accepted()
    after = undisturbed.take_part(parameters(2), data, seed=3)
    assert late.take_part(parameters(2), data, seed=3) != after


def test_states_that_fit_the_model_no_more_are_left_out() -> None:
    other = Virtual(plan_of("sgd"))
    other.participant.states = {"codec": State({"delta.weight": np.ones((9, 9), np.float32)})}
    features, labels = samples(40)
    data = Dataset({"pixels": features.reshape(-1, 2, 2)}, labels)
    payload = other.take_part(parameters(0), data, seed=1)
    assert payload == Virtual(plan_of("sgd")).take_part(parameters(0), data, seed=1)
