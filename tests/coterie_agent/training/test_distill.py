"""Stage 3 of Colla on the device: the teacher is asked once, early stopping keeps the best, only the period counts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie_agent.blobs import BlobCache
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.model import fetch_model, parts
from coterie_agent.store.opened import Store, open_store
from coterie_agent.store.peers import KeptPortion
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.store.samples import Row
from coterie_agent.training.assignment import Training
from coterie_agent.training.halt import Halt
from coterie_agent.training.model import Model, read_parameters
from coterie_agent.training.teaching import Teaching, parts_of
from coterie_learning.client.part import TrainedPart
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.device_plan import parse_device_plan
from coterie_learning.local import Scope
from coterie_learning.teacher import Teacher, quantise_weights
from coterie_wire.bundle import BlobRef
from coterie_wire.helping import GiveVerdict
from coterie_wire.messages import Assignment, OfferUpdate
from coterie_wire.tensors import encode_tensors
from coterie_wire.version import PROTOCOL
from tests.coterie_agent.bundles import SPEC, Bundle, parameters, predict_graph, samples
from tests.coterie_agent.fake_platform import PLAN
from tests.coterie_agent.peers.world import GOOD, plan, rows, standing

FLOAT32 = {**PLAN, "codec": {"kind": "float32"}}
DISTILL = {"kind": "distill", "epochs": 3, "learning_rate": 0.5, "head": "all"}


def teacher_of(seed: int, version: str) -> tuple[Teacher, dict[str, bytes]]:
    contents = (predict_graph(), quantise_weights(parameters(seed)))
    refs = [BlobRef.of_bytes(content) for content in contents]
    teacher = Teacher(PROTOCOL, "pair", version, SPEC.inputs, SPEC.classes, SPEC.parameters, refs[0], refs[1])
    return teacher, {ref.sha256: content for ref, content in zip(refs, contents, strict=True)}


@dataclass
class Device:
    """One agent's training, without the agent around it."""

    root: Path
    bundle: Bundle
    store: Store
    fetched: list[str] = field(default_factory=list)
    spare_bytes: int = 0

    @property
    def blobs(self) -> BlobCache:
        return BlobCache(Home(self.root).blobs)

    def train(
        self,
        local: dict[str, object],
        *,
        halt: Callable[[int], Halt | None] = lambda _: None,
        teacher_seed: int = 5,
        version: str = "t1",
    ) -> bool:
        """Whether the update is spooled; `halt` decides by the number of times it was asked."""
        plan = msgspec.json.encode({**FLOAT32, "local": local})
        parsed = parse_device_plan(plan)
        asked = iter(range(10**6))
        contents = dict(self.bundle.blobs)
        fetch_model(
            self.bundle.manifest, self.blobs, lambda sha, offset: iter([contents[sha][offset:]]), stop=lambda: False
        )
        return Training(
            assignment=Assignment("a1", "digits", 1, msgspec.Raw(plan), self.bundle.signed, 11, 60.0),
            plan=parsed,
            model=Model(self.bundle.manifest, self.blobs),
            store=self.store,
            threads=1,
            checkpoint_s=1000,
            halt=lambda _: halt(next(asked)),
            report=lambda done, total: None,
            record_durations=lambda durations: None,
            rest=lambda worked_s: None,
            teaching=self.teaching(teacher_seed, version) if parsed.local.needs_teacher() else None,
        ).run()

    def teaching(self, seed: int, version: str) -> Teaching:
        teacher, contents = teacher_of(seed, version)

        def fetch() -> bool:
            self.fetched.append(version)
            return all(
                self.blobs.fetch(ref, lambda sha, offset: iter([contents[sha][offset:]]), stop=lambda: False)
                for ref in parts_of(teacher)
            )

        return Teaching(
            teacher=teacher,
            model=SPEC,
            blobs=self.blobs,
            samples=self.store.samples,
            store=self.store.teaching,
            fetch=fetch,
            own_parts=parts(self.bundle.manifest),
            spare_bytes=self.spare_bytes,
            threads=1,
        )

    def update(self) -> tuple[OfferUpdate, bytes]:
        """What was spooled; the assignment ends."""
        offer = self.store.work.offer()
        assert offer is not None
        payload = self.store.work.read_payload(0, offer.size_bytes)
        self.store.work.finish("released", "", now=0)
        return offer, payload


@contextmanager
def device(root: Path, bundle: Bundle, *, count: int = 60) -> Iterator[Device]:
    with open_store(Home(root)) as store:
        features, labels = samples(count)
        store.samples.add([Row(x.tobytes(), int(y)) for x, y in zip(features, labels, strict=True)], max_samples=1000)
        yield Device(root, bundle, store)


def test_with_all_weight_on_the_labels_it_is_plain_fine_tuning(tmp_path: Path, bundle: Bundle) -> None:
    with device(tmp_path, bundle) as one:
        assert one.train({**DISTILL, "lambda_d": 1})
        distilled = one.update()
        assert one.train({"kind": "sgd", "epochs": 3, "learning_rate": 0.5})
        assert one.update()[1] == distilled[1]
        assert one.fetched == []


def test_the_teacher_is_asked_about_each_sample_once(tmp_path: Path, bundle: Bundle) -> None:
    with device(tmp_path, bundle) as one:
        assert one.train(DISTILL)
        one.update()
        assert one.train(DISTILL)
        one.update()
        assert one.fetched == ["t1"], "its probabilities are kept"
        one.store.samples.add([Row(np.zeros(4, np.float32).tobytes(), 1)], max_samples=1000)
        assert one.train(DISTILL)
        assert one.fetched == ["t1", "t1"], "a new sample has to be asked about"
        one.update()
        assert one.train(DISTILL, version="t2", teacher_seed=6)
        assert one.fetched[-1] == "t2", "another version has others"


def test_the_next_round_goes_on_with_the_own_model(tmp_path: Path, bundle: Bundle) -> None:
    far, near = ({**DISTILL, "lambda_d": 1, "epochs": 1, "learning_rate": rate} for rate in (0.5, 1e-6))
    received, codec = parameters(0), Float32Codec()
    with device(tmp_path, bundle) as one:
        assert one.train(far)
        first = codec.decode(one.update()[1], expected=SPEC.parameters)
        own = read_parameters(one.store.peers.personal_tensors(), SPEC)
        assert own is not None
        for name, tensor in received.items():
            np.testing.assert_allclose(own[name], tensor + first[name], atol=1e-6)
        assert one.train(near)
        second = codec.decode(one.update()[1], expected=SPEC.parameters)
    for name, difference in first.items():
        np.testing.assert_allclose(second[name], difference, atol=1e-4)
        assert np.abs(difference).max() > 0.01


def test_a_round_of_another_federation_leaves_its_personal_model_alone(tmp_path: Path, bundle: Bundle) -> None:
    """The plan between rounds is of one federation; in another's the version is trained, without what peers taught."""
    codec = Float32Codec()
    near = {**DISTILL, "lambda_d": 1, "epochs": 1, "learning_rate": 1e-6}
    with device(tmp_path, bundle) as one:
        peers = one.store.peers
        before = peers.adopt(PersonalTensors("v1", encode_tensors(parameters(3))))
        kept = KeptPortion("t-1", msgspec.json.encode(plan()), (2,), rows(GOOD))
        peers.judge(GiveVerdict("t-1", True, 0.5, 0.9, 8), kept, before=before, tensors=encode_tensors(parameters(3)))
        edition, tensors = peers.personal(), peers.personal_tensors()
        peers.set_plan(msgspec.structs.replace(standing(plan()), federation="another"))
        assert one.train(near)
        difference = codec.decode(one.update()[1], expected=SPEC.parameters)
        assert max(np.abs(tensor).max() for tensor in difference.values()) < 1e-4, "from the version, not from its own"
        assert (peers.personal(), peers.personal_tensors()) == (edition, tensors)


def test_what_others_taught_it_during_a_round_is_not_lost(tmp_path: Path, bundle: Bundle) -> None:
    with device(tmp_path, bundle) as one:
        peers = one.store.peers
        before = peers.adopt(PersonalTensors("v1", encode_tensors(parameters(0))))

        def meanwhile(asked: int) -> None:
            if asked == 3:
                kept = KeptPortion("t-1", msgspec.json.encode(plan()), (2,), rows(GOOD))
                peers.judge(GiveVerdict("t-1", True, 0.5, 0.9, 8), kept, before=before, tensors=b"with it")

        assert one.train({**DISTILL, "lambda_d": 1}, halt=meanwhile)
        own = read_parameters(peers.personal_tensors(), SPEC)
        assert own is not None
        row, taught = own["weight"][2], GOOD["weight"][2]
        assert np.vdot(row, taught) == pytest.approx(np.linalg.norm(row) * np.linalg.norm(taught))
        assert peers.personal() == ("v1", 3)


def test_only_classes_that_are_new_to_it_begin_as_they_were_received() -> None:
    received, own = parameters(0), parameters(1)
    had = TrainedPart(SPEC, Scope(head="seen"), (0, 1))
    begun = TrainedPart(SPEC, Scope(head="seen"), (0, 1, 2)).go_on(had.begin(own), received)
    np.testing.assert_array_equal(begun["weight"], np.stack([*own["weight"][:2], received["weight"][2]]))
    np.testing.assert_array_equal(begun["bias"], np.append(own["bias"][:2], received["bias"][2]))


def test_the_teacher_is_heard(tmp_path: Path, bundle: Bundle) -> None:
    with device(tmp_path, bundle) as one:
        ids = one.store.samples.ids(one.store.samples.snapshot())
        teaching = one.teaching(5, "t1")
        assert teaching.compute(ids, stop=lambda: False)
        found = teaching.probabilities(ids, ())
        rows = np.stack([np.frombuffer(row.x, np.float32) for row in one.store.samples.load(ids)])
        weights = parameters(5)
        logits = rows @ weights["weight"].T + weights["bias"]
        exact = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        assert np.abs(found - exact).max() < 0.03, "int8 weights, float16 probabilities"
        customised = teaching.probabilities(ids, (0, 2))
        assert not customised[:, 1].any() and np.allclose(customised.sum(axis=1), 1, atol=1e-3)


def test_the_teacher_is_removed_when_space_is_short_and_is_not_needed_again(tmp_path: Path, bundle: Bundle) -> None:
    with device(tmp_path, bundle) as one:
        one.spare_bytes = 1 << 60
        assert one.train(DISTILL)
        shared, weights = parts_of(teacher_of(5, "t1")[0])
        assert not one.blobs.has(weights)
        assert one.blobs.has(shared), "the device predicts with the same graph"
        one.update()
        assert one.train(DISTILL)
        assert one.fetched == ["t1"]


def pause_at(last: int, asked: int) -> Halt | None:
    return Halt.PAUSE if asked == last else None


@pytest.mark.parametrize("every", [3, 7])
def test_an_interrupted_assignment_gives_the_same_bytes(tmp_path: Path, bundle: Bundle, every: int) -> None:
    with device(tmp_path / "straight", bundle) as one:
        assert one.train(DISTILL)
        straight = one.update()[1]
    with device(tmp_path / "often", bundle) as one:
        pauses = 0
        while not one.train(DISTILL, halt=partial(pause_at, every * (1 + pauses))):
            pauses += 1
        assert pauses > 2
        assert one.update()[1] == straight


def test_it_stops_when_nothing_gets_better_and_keeps_the_best(tmp_path: Path, bundle: Bundle) -> None:
    # The largest step: the loss soon is 0, or swings.
    wild = {**DISTILL, "lambda_d": 1, "learning_rate": 100.0, "epochs": 60, "patience": 2}
    with device(tmp_path, bundle) as one:
        assert one.train(wild)
        offer, _ = one.update()
        assert offer.steps_done < offer.steps_total
        assert offer.loss_after <= offer.loss_before


def test_only_the_samples_of_the_period_count(tmp_path: Path, bundle: Bundle) -> None:
    with device(tmp_path, bundle) as one:
        with one.store.samples._database.transaction() as cursor:
            cursor.execute("UPDATE sample SET at = at - 5 * 86400 WHERE id <= 40")
            cursor.execute("UPDATE sample SET seal = seal(id, x, label, target, at)")
        assert one.train({**DISTILL, "lambda_d": 1, "epochs": 1, "period_days": 4})
        assert one.update()[0].samples <= 20
        assert one.train({**DISTILL, "lambda_d": 1, "epochs": 1, "period_days": 6})
        assert one.update()[0].samples > 20
        with one.store.samples._database.transaction() as cursor:
            cursor.execute("UPDATE sample SET at = 0")
        with pytest.raises(AgentError, match="plan would learn from"):
            one.train({**DISTILL, "lambda_d": 1})


def test_a_teacher_of_another_task_is_refused(tmp_path: Path, bundle: Bundle) -> None:
    with device(tmp_path, bundle) as one:
        teaching = one.teaching(5, "t1")
        foreign = msgspec.structs.replace(teaching.teacher, classes=7)
        object.__setattr__(teaching, "teacher", foreign)
        with pytest.raises(AgentError) as refused:
            teaching.compute([1], stop=lambda: False)
        assert refused.value.code == "model.contract"
