"""``coterie-agent predict`` where the device has no model: the platform answers if plan and owner let samples go."""

import json

import pytest

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.predict import Predictions, run
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.store.opened import Store
from coterie_wire.messages import Problem
from tests.coterie_agent.answering_platform import PREDICTION, Answers
from tests.coterie_agent.bundles import Bundle, samples
from tests.coterie_agent.serving.world import hold

CONSENT = "[platform]\nsend_samples = true\n"


@pytest.fixture(autouse=True)
def consent(home: Home, answers: Answers) -> None:
    home.config.write_text(CONSENT)


def predict(home: Home, *, count: int = 2) -> Output:
    file = home.root / "asked.jsonl"
    file.write_text("\n".join(json.dumps({"x": x.tolist()}) for x in samples(count)[0]))
    return run(Arguments("predict", home.root, file=file))


def refusal(home: Home, *, count: int = 2) -> str:
    with pytest.raises(AgentError) as refused:
        predict(home, count=count)
    return refused.value.code


def test_the_platform_answers_where_there_is_no_model(home: Home, store: Store, answers: Answers) -> None:
    found = predict(home)
    assert found.json == Predictions("c1", False, [PREDICTION] * 2, "cloud", "platform")
    assert found.lines[0].startswith("answered by the platform, since the device holds no model yet")
    (sent,) = store.journal.sent_totals()
    assert (sent.what, sent.messages, len(answers.asked)) == ("ask-platform", 1, 1)


def test_a_model_that_answers_sends_nothing(home: Home, store: Store, answers: Answers, bundle: Bundle) -> None:
    hold(home, store, bundle)
    found = predict(home)
    assert isinstance(found.json, Predictions)
    assert (found.json.version, found.json.form, found.json.fallback) == ("v1", "float32", None)
    assert answers.asked == []


def test_a_model_that_is_lost_is_answered_for(home: Home, store: Store, answers: Answers, bundle: Bundle) -> None:
    hold(home, store, bundle)
    for file in home.blobs.iterdir():
        file.unlink()
    found = predict(home)
    assert isinstance(found.json, Predictions) and found.json.fallback == "platform"


@pytest.mark.parametrize("settings", ["", "[platform]\nsend_samples = false\n"])
def test_nothing_goes_without_the_owners_word(home: Home, answers: Answers, settings: str) -> None:
    home.config.write_text(settings)
    assert refusal(home) == "agent.no_model"
    assert answers.asked == []


def test_nothing_goes_without_the_plans_word_or_beyond_it(
    home: Home, store: Store, answers: Answers, bundle: Bundle
) -> None:
    assert refusal(home, count=3) == "agent.no_model", "more than a request may have"
    store.platform_offer.hold(None)
    assert refusal(home) == "agent.no_model"
    assert answers.asked == []


def test_why_the_device_does_not_answer_is_told_where_the_platform_does_not_either(
    home: Home, answers: Answers
) -> None:
    answers.problem = Problem("cloud_answers.too_often", "Too Many Requests", 429, "wait", fields={"wait_s": 3600})
    assert refusal(home) == "agent.no_model"
    assert len(answers.asked) == 1


def test_a_file_that_is_refused_goes_nowhere(home: Home, store: Store, answers: Answers, bundle: Bundle) -> None:
    hold(home, store, bundle)
    file = home.root / "asked.jsonl"
    file.write_text('{"x": [1.0]}')
    with pytest.raises(AgentError) as refused:
        run(Arguments("predict", home.root, file=file))
    assert refused.value.code == "ingest.wrong_width"
    assert answers.asked == []
