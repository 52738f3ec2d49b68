"""The thread that answers questions: with real stores and the whole protocol, against a platform in this process."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, cast

import msgspec
import numpy as np
import pytest

from coterie_agent.answering import AnsweringThread
from coterie_agent.config import Config, PrivacySettings, QuestionSettings
from coterie_agent.home import Home
from coterie_agent.link.http import HttpLink
from coterie_agent.situation import Situation
from coterie_agent.store.identity import Identity
from coterie_agent.store.opened import Store, open_store
from coterie_agent.store.samples import Row
from coterie_learning.accounting import cost_of
from coterie_learning.answers import Encoding
from coterie_learning.question import Classes, Question
from coterie_wire.asking import OpenQuestion
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.message import Message
from coterie_wire.messages import Directive, Done, ReleaseAssignment
from tests.coterie_agent.summing import Link, Platform

AGREES = Config(questions=QuestionSettings(answer=("classes", "hardware"), without_noise=True, min_devices=3))
EXACT = Question(Classes(classes=3, most=50), min_devices=3, corrupted=0.0)
NOISY = msgspec.structs.replace(EXACT, noise_multiplier=2.0)


class AskingPlatform(Platform):
    """It also hears who declines."""

    def __init__(self, question: Question, count: int = 3) -> None:
        super().__init__(count, question.terms, Encoding(question, count).layout)
        self.declined: dict[str, Reason] = {}

    def handle(self, device: str, message: Message) -> Message:
        if isinstance(message, ReleaseAssignment):
            self.declined[device] = message.reason
            return Done()
        return super().handle(device, message)


class SafeLink(Link):
    """One call at a time: the platform of this process has no database."""

    lock = threading.Lock()

    def _passed(self, call: Callable[[], Any]) -> Any:
        with self.lock:
            return super()._passed(call)


@contextmanager
def answering(home: Path, name: str, platform: Platform, question: bytes, config: Config = AGREES) -> Iterator[Store]:
    """A device that is asked, while its thread runs."""
    with open_store(Home(home / name)) as store:
        for label in range(3):
            rows = [Row(np.zeros(2, np.float32).tobytes(), label)] * (label + int(name[-1]))
            store.samples.add(rows, max_samples=1000)
        situation = Situation()
        situation.set_conditions(Conditions(network="wifi"), ())
        directive = Directive(check_in_s=1.0, question=OpenQuestion(f"of-{name}", "digits", msgspec.Raw(question)))
        situation.set_directive(directive, at=monotonic())
        thread = threading.Thread(
            target=AnsweringThread(
                identity=Identity("http://platform", name, name, bytes(32), 1.0),
                config=config,
                store=store,
                link=cast(HttpLink, SafeLink(name, platform)),
                situation=situation,
            ).run
        )
        thread.start()
        try:
            yield store
        finally:
            situation.stop()
            thread.join(10)


def ended(store: Store) -> str:
    until = monotonic() + 30
    while not store.questions.outcomes():
        assert monotonic() < until, "the question has not ended"
        sleep(0.02)
    return store.questions.outcomes()[0].outcome


def test_what_is_summed_is_what_the_devices_have(tmp_path: Path) -> None:
    platform = AskingPlatform(NOISY)
    with ExitStack() as stack:
        names = ["device-1", "device-2", "device-3"]
        stores = [
            stack.enter_context(answering(tmp_path, name, platform, msgspec.json.encode(NOISY))) for name in names
        ]
        assert [ended(store) for store in stores] == ["answered"] * 3
        answer = Encoding(NOISY, 3).answer(platform.sum(), 3)
        truth = np.sum([store.samples.class_counts() for store in stores], axis=0)
        assert np.abs(answer.counts - truth).max() < 6 * answer.deviation
        assert [store.privacy_ledger.spent() for store in stores] == [cost_of(2.0)] * 3
        assert all(store.question_sum.find(f"of-{name}") is None for store, name in zip(stores, names, strict=True))


def test_without_noise_nothing_is_charged_and_the_sum_is_exact(tmp_path: Path) -> None:
    platform = AskingPlatform(EXACT)
    with ExitStack() as stack:
        stores = [
            stack.enter_context(answering(tmp_path, f"device-{number}", platform, msgspec.json.encode(EXACT)))
            for number in (1, 2, 3)
        ]
        assert [ended(store) for store in stores] == ["answered"] * 3
        truth = np.sum([store.samples.class_counts() for store in stores], axis=0)
        assert Encoding(EXACT, 3).answer(platform.sum(), 3).counts.tolist() == truth.tolist()
        assert [store.privacy_ledger.spent() for store in stores] == [0.0] * 3


@pytest.mark.parametrize(
    ("question", "config", "code"),
    [
        (EXACT, Config(), "question.not_agreed"),
        (
            EXACT,
            Config(questions=QuestionSettings(answer=("classes",), without_noise=False, min_devices=3)),
            "question.not_agreed",
        ),
        (EXACT, Config(questions=QuestionSettings(answer=("classes",), without_noise=True)), "question.not_agreed"),
        (msgspec.structs.replace(EXACT, among="failing"), AGREES, "question.not_agreed"),
        (
            NOISY,
            msgspec.structs.replace(AGREES, privacy=PrivacySettings(epsilon=0.5)),
            "privacy.device_budget",
        ),
    ],
    ids=["nothing agreed", "noise wanted", "more devices wanted", "problems not agreed", "budget"],
)
def test_an_owner_says_no_before_the_device_joins(
    tmp_path: Path, question: Question, config: Config, code: str
) -> None:
    platform = AskingPlatform(question)
    with answering(tmp_path, "device-1", platform, msgspec.json.encode(question), config) as store:
        assert ended(store) == "declined"
        assert platform.declined["device-1"].code == code
        assert not platform.members
        assert store.privacy_ledger.spent() == 0.0


def test_a_question_that_a_newer_platform_knows_is_declined(tmp_path: Path) -> None:
    platform = AskingPlatform(EXACT)
    with answering(tmp_path, "device-1", platform, b'{"count": {"kind": "thoughts"}}') as store:
        assert ended(store) == "declined"
        assert platform.declined["device-1"].code == "question.invalid"
