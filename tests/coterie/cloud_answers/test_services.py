"""Who is answered, with what, how often, and what is written down of it."""

from collections.abc import Mapping
from concurrent.futures import Future
from typing import cast

import msgspec
import numpy as np
import pytest
from django.core.cache import cache

from coterie.audit.models import Entry
from coterie.child.run import run_child
from coterie.cloud_answers import running
from coterie.cloud_answers.errors import (
    AnswerTooLarge,
    Busy,
    Failed,
    NoConsent,
    NoModel,
    NotOffered,
    TooLate,
    TooManySamples,
    TooOften,
    WrongSample,
)
from coterie.cloud_answers.running import Answerers, PredictionTask
from coterie.cloud_answers.services import prepare_answer
from coterie.core.metrics import REGISTRY
from coterie.evaluation.answer_job import LARGEST_BYTES
from coterie.federations.services import finish_federation
from coterie.fleet.models import Device
from coterie.registry.models import Blob, ModelPair, ModelVersion, Role
from coterie.rounds import directives
from coterie_wire.conditions import Conditions
from coterie_wire.fallback import AskPlatform, PlatformAnswer, PlatformOffer
from coterie_wire.messages import Capabilities, CheckIn
from coterie_wire.predictions import Prediction
from coterie_wire.version import PROTOCOL
from tests.coterie.world import START, keep, later, make_device, make_federation, make_pair, make_version
from tests.coterie_agent.bundles import SPEC, predict_graph

pytestmark = pytest.mark.django_db
ABLE = Capabilities(cores=4, memory_bytes=2**30, machine="aarch64 Linux", agent="0.2.0", asks_platform=True)
SAMPLE = np.ones(4, np.float32).tobytes()


@pytest.fixture(autouse=True)
def _nothing_counted() -> None:
    cache.clear()


class Answered:
    """A federation whose plan has the platform answer, and a device whose owner lets it."""

    def __init__(self, *, teacher: bool = True, consent: bool = True, plan: Mapping[str, object] | None = None) -> None:
        self.pair = make_pair(predict=predict_graph(SPEC))
        spec = {"spec": msgspec.to_builtins(SPEC), "labels": ["red", "green", "blue"]}
        if teacher:
            spec |= {"teacher_predict": keep(predict_graph(SPEC)), "teacher_parameters": []}
        ModelPair.objects.filter(pk=self.pair.pk).update(**spec)
        self.pair.refresh_from_db()
        self.version = make_version(self.pair)
        self.cloud = make_version(self.pair, seed=1, role=Role.CLOUD) if teacher else None
        fallback = {"kind": "cloud_model", "samples": 2, "per_device": 3, "per_minute": 5}
        self.federation = make_federation(self.pair, plan={"fallback": fallback} if plan is None else plan)
        self.device = self.joined("asking", consent=consent)

    def joined(self, name: str, *, consent: bool = True) -> Device:
        device = make_device(name)
        self.check_in(device, consent=consent)
        return device

    def check_in(self, device: Device, *, consent: bool = True) -> PlatformOffer | None:
        capabilities = ABLE if consent else msgspec.structs.replace(ABLE, asks_platform=False)
        message = CheckIn(protocol=PROTOCOL, conditions=Conditions(), capabilities=capabilities)
        told = directives.check_in(device=device, message=message, now=START)
        device.refresh_from_db()
        return told.platform_answers

    def ask(
        self, *samples: bytes, device: Device | None = None, federation: str = "digits", at: float = 0
    ) -> PredictionTask:
        message = AskPlatform(federation, samples or (SAMPLE,), 10.0)
        return prepare_answer(device=device or self.device, message=message, now=later(at))


def entries() -> list[Entry]:
    return list(Entry.objects.filter(action="cloud_answers.answer_device"))


def counted(outcome: str) -> float:
    return REGISTRY.get_sample_value("coterie_cloud_answers_total", {"outcome": outcome}) or 0.0


def test_the_cloud_model_answers_and_the_audit_log_says_so_once_a_day() -> None:
    world = Answered()
    assert world.cloud is not None
    question = world.ask(SAMPLE, SAMPLE)
    assert (question.model.model, question.model.version) == ("cloud", str(world.cloud.pk))
    world.ask(at=60)
    cache.clear()
    world.ask(at=120)
    (entry,) = entries()
    assert (entry.subject_id, entry.after) == (str(world.device.pk), {"day": "2026-01-01", "federation": "digits"})
    world.ask(at=86_400)
    assert len(entries()) == 2


def test_without_a_cloud_model_the_version_answers() -> None:
    world = Answered(teacher=False)
    model = world.ask().model
    assert (model.model, model.version) == ("device", str(world.version.pk))


def test_a_cloud_model_that_is_too_large_leaves_it_to_the_version_and_both_to_nobody() -> None:
    world = Answered()
    assert world.cloud is not None
    Blob.objects.filter(pk=world.cloud.parameters_id).update(size_bytes=LARGEST_BYTES + 1)
    assert world.ask().model.model == "device"
    Blob.objects.filter(pk=world.version.parameters_id).update(size_bytes=LARGEST_BYTES + 1)
    with pytest.raises(NoModel):
        world.ask()


def test_a_device_whose_owner_has_not_said_so_is_told_nothing_and_refused() -> None:
    world = Answered(consent=False)
    assert world.check_in(world.device, consent=False) is None
    before = counted("refused")
    with pytest.raises(NoConsent):
        world.ask()
    assert world.check_in(world.device) == PlatformOffer("digits", 2)
    assert world.ask().samples == (SAMPLE,)
    assert world.check_in(world.device, consent=False) is None
    with pytest.raises(NoConsent):
        world.ask()
    assert counted("refused") == before + 2
    assert len(entries()) == 1


def test_a_plan_that_does_not_say_so_is_told_nothing_and_refused() -> None:
    world = Answered(plan={})
    assert world.check_in(world.device) is None
    with pytest.raises(NotOffered):
        world.ask()
    assert entries() == []


def test_a_federation_that_is_anothers_or_has_ended_answers_nothing() -> None:
    world = Answered()
    with pytest.raises(NotOffered):
        world.ask(federation="others")
    finish_federation(federation=world.federation, now=START)
    assert world.check_in(world.device) is None
    with pytest.raises(NotOffered):
        world.ask()


def test_too_many_samples_are_refused() -> None:
    with pytest.raises(TooManySamples):
        Answered().ask(SAMPLE, SAMPLE, SAMPLE)


@pytest.mark.parametrize(
    ("sample", "problem"),
    [
        (bytes(12), "12 bytes"),
        (bytes(20), "20 bytes"),
        (bytes(17), "17 bytes"),
        (np.array([0, 0, 0, np.nan], np.float32).tobytes(), "not finite"),
        (np.array([0, 0, 0, np.inf], np.float32).tobytes(), "not finite"),
    ],
)
def test_a_sample_of_another_shape_is_refused(sample: bytes, problem: str) -> None:
    world = Answered()
    with pytest.raises(WrongSample, match=problem):
        world.ask(SAMPLE, sample)
    assert entries() == []


def test_inputs_that_are_whole_numbers_take_no_others() -> None:
    world = Answered()
    tokens = msgspec.structs.replace(SPEC.inputs[0], dtype="uint8")
    spec = msgspec.structs.replace(SPEC, inputs=(tokens,))
    ModelPair.objects.filter(pk=world.pair.pk).update(spec=msgspec.to_builtins(spec))
    assert world.ask(np.array([0, 255, 3, 4], np.float32).tobytes())
    for wrong in ([0, 256, 0, 0], [0, -1, 0, 0], [0.5, 0, 0, 0]):
        with pytest.raises(WrongSample, match="whole numbers"):
            world.ask(np.array(wrong, np.float32).tobytes(), at=60)
        cache.clear()


def test_an_answer_too_large_to_be_read_is_refused() -> None:
    world = Answered()
    values = msgspec.structs.replace(SPEC, task="values", output=msgspec.structs.replace(SPEC.output, shape=(40_000,)))
    ModelPair.objects.filter(pk=world.pair.pk).update(spec=msgspec.to_builtins(values))
    assert world.ask()
    with pytest.raises(AnswerTooLarge):
        world.ask(SAMPLE, SAMPLE)


def test_a_device_and_a_federation_ask_so_often_a_minute_at_most() -> None:
    world = Answered()
    for _ in range(3):
        world.ask(at=15)
    with pytest.raises(TooOften) as refused:
        world.ask(at=15)
    assert (refused.value.fields["limit"], refused.value.fields["wait_s"]) == (3, 45)
    other = world.joined("other")
    world.ask(device=other, at=16)
    world.ask(device=other, at=16)
    with pytest.raises(TooOften, match="Federation digits"):
        world.ask(device=other, at=16)
    assert world.ask(at=60)


def answer_of(question: PredictionTask, *, remaining_s: float = 10.0) -> PlatformAnswer:
    return Answerers().ask(question, remaining_s=remaining_s).result(20)


def test_a_child_answers_with_the_model() -> None:
    world = Answered()
    before = counted("cloud")
    answer = answer_of(world.ask(SAMPLE, SAMPLE))
    assert (answer.model, answer.version) == ("cloud", str(cast(ModelVersion, world.cloud).pk))
    first, second = answer.predictions
    assert isinstance(first, Prediction)
    assert (first, first.label) == (second, ("red", "green", "blue")[first.index])
    assert counted("cloud") == before + 1


def test_what_nobody_waits_for_any_more_is_not_begun() -> None:
    with pytest.raises(TooLate):
        answer_of(Answered().ask(), remaining_s=0.0)


def test_what_takes_longer_than_the_device_waits_is_ended() -> None:
    with pytest.raises(TooLate):
        answer_of(Answered().ask(), remaining_s=0.01)


def test_a_model_that_does_not_run_is_no_answer() -> None:
    world = Answered()
    ModelPair.objects.filter(pk=world.pair.pk).update(teacher_predict=keep(b"no graph"))
    before = counted("failed")
    with pytest.raises(Failed):
        answer_of(world.ask())
    assert counted("failed") == before + 1


def test_more_than_may_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    goes: Future[None] = Future()

    def held_up(*arguments: object, **more: object) -> object:
        goes.result(10)
        return run_child(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "run_child", held_up)
    question = Answered().ask()
    answerers = Answerers(at_once=1, waiting=1)
    begun = [answerers.ask(question, remaining_s=30) for _ in range(2)]
    with pytest.raises(Busy) as refused:
        answerers.ask(question, remaining_s=30)
    assert refused.value.fields["wait_s"] > 0  # type: ignore[operator]
    begun[1].cancel()
    goes.set_result(None)
    assert begun[0].result(20).model == "cloud"
    assert answerers.ask(question, remaining_s=30).result(20).model == "cloud"
