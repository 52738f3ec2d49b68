"""What goes to the platform for an answer: only with an offer, under a plan that hides nothing, and noted before."""

import msgspec
import pytest

from coterie_agent.config import Config
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.serving.platform import AT_ONCE, Platform
from coterie_agent.store.journal import SentBytes
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import Row
from coterie_wire.fallback import AskPlatform, PlatformAnswer
from coterie_wire.messages import Assignment, Problem
from tests.coterie_agent.answering_platform import PREDICTION, Answers
from tests.coterie_agent.bundles import Bundle

ALLOWED = msgspec.convert({"platform": {"send_samples": True, "after_ms": 250}}, Config)
ROW = Row(bytes(16), 0)


def test_samples_go_with_the_owners_journal_knowing_it(home: Home, store: Store, answers: Answers) -> None:
    platform = Platform(home, store, ALLOWED)
    asked = platform.ask([ROW, ROW], remaining_s=9.0)
    assert asked is not None
    assert asked.result(10) == PlatformAnswer("c1", "cloud", (PREDICTION, PREDICTION))
    assert answers.asked == [AskPlatform("digits", (ROW.x, ROW.x), 9.0)]
    assert answers.credentials == ["Bearer secret"]
    size = len(msgspec.json.encode(answers.asked[0]))
    assert store.journal.sent_totals() == (SentBytes("ask-platform", 1, size),)
    assert platform.after_s == 0.25


def test_nothing_goes_without_an_offer_or_beyond_it(home: Home, store: Store, answers: Answers) -> None:
    platform = Platform(home, store, ALLOWED)
    assert platform.ask([ROW] * 3, remaining_s=9.0) is None
    assert platform.ask([ROW], remaining_s=0.0) is None
    store.platform_offer.hold(None)
    assert platform.ask([ROW], remaining_s=9.0) is None
    assert answers.asked == []
    assert store.journal.sent_totals() == ()


def test_nothing_goes_where_the_plan_hides_what_the_device_has(
    home: Home, store: Store, answers: Answers, bundle: Bundle
) -> None:
    """Whatever the platform says that it answers."""
    assignment = Assignment("a-1", "digits", 1, msgspec.Raw(b"{}"), bundle.signed, 1, 60.0)
    store.work.accept(assignment, is_masked=True)
    assert Platform(home, store, ALLOWED).ask([ROW], remaining_s=9.0) is None
    assert answers.asked == []


def test_a_refusal_is_heeded_as_long_as_the_platform_says(home: Home, store: Store, answers: Answers) -> None:
    answers.problem = Problem("cloud_answers.too_often", "Too Many Requests", 429, "wait", fields={"wait_s": 3600})
    platform = Platform(home, store, ALLOWED)
    asked = platform.ask([ROW], remaining_s=9.0)
    assert asked is not None
    with pytest.raises(AgentError) as refused:
        asked.result(10)
    assert refused.value.code == "cloud_answers.too_often"
    assert platform.ask([ROW], remaining_s=9.0) is None


def test_a_refusal_of_these_samples_says_nothing_of_others(home: Home, store: Store, answers: Answers) -> None:
    answers.problem = Problem("cloud_answers.wrong_sample", "Unprocessable", 422, "another shape")
    platform = Platform(home, store, ALLOWED)
    for _ in range(2):
        asked = platform.ask([ROW], remaining_s=9.0)
        assert asked is not None
        assert asked.exception(10) is not None


def test_answers_to_another_number_of_samples_are_none(home: Home, store: Store, answers: Answers) -> None:
    answers.predictions = (PREDICTION, PREDICTION)
    asked = Platform(home, store, ALLOWED).ask([ROW], remaining_s=9.0)
    assert asked is not None
    with pytest.raises(AgentError, match="another number"):
        asked.result(10)


def test_a_few_requests_at_once_are_made_and_no_more(home: Home, store: Store, answers: Answers) -> None:
    answers.goes.clear()
    platform = Platform(home, store, ALLOWED)
    begun = [platform.ask([ROW], remaining_s=9.0) for _ in range(AT_ONCE)]
    assert platform.ask([ROW], remaining_s=9.0) is None
    answers.goes.set()
    assert all(one is not None and one.result(10).version == "c1" for one in begun)
    asked = platform.ask([ROW], remaining_s=9.0)
    assert asked is not None
    asked.result(10)
