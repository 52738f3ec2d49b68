"""The network may ask what the page asks, and sees samples only where the owner lets it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from coterie_agent.config import Config
from coterie_agent.home import Home
from coterie_agent.label_api import LabelApi, LabelQuestion, LabelView
from coterie_agent.link.http import HttpLink
from coterie_agent.local_api import LocalApi
from coterie_agent.network_page.routes import SHOWN, ShownSamples, network_routes
from coterie_agent.owner_api import OwnerApi
from coterie_agent.site import RequestError
from coterie_agent.situation import Situation
from coterie_agent.store.opened import open_store


@pytest.fixture
def apis(tmp_path: Path) -> Iterator[tuple[OwnerApi, LabelApi]]:
    home, situation = Home(tmp_path), Situation()
    with open_store(home) as store:
        link = HttpLink("http://127.0.0.1:1", credential=None, record_sent=lambda *_: None)
        owner = OwnerApi(
            home=home,
            config=Config(),
            store=store,
            situation=situation,
            link=link,
            record_sent=lambda *_: None,
        )
        yield owner, LabelApi(local=LocalApi(home=home, config=Config(), store=store, situation=situation))


def test_what_programs_ask_is_not_on_the_network(apis: tuple[OwnerApi, LabelApi]) -> None:
    owner, labels = apis
    routes = network_routes(owner, labels, show_samples=True, record_sent=lambda *_: None)
    assert set(routes) == {*owner.routes(), *labels.page_routes()}
    programs = ("GET /status", "POST /samples", "POST /predict", "POST /observe", "POST /ask-label")
    assert not set(programs) & set(routes)


def test_samples_are_kept_unless_the_owner_shows_them(apis: tuple[OwnerApi, LabelApi]) -> None:
    owner, labels = apis
    kept = network_routes(owner, labels, show_samples=False, record_sent=lambda *_: None)
    for path in labels.page_routes():
        with pytest.raises(RequestError, match="show_samples") as refusal:
            kept[path](b"{}")
        assert refusal.value.code == "page.keeps_samples"
    shown = network_routes(owner, labels, show_samples=True, record_sent=lambda *_: None)
    answer = shown["GET /labels"](b"")
    assert isinstance(answer, LabelView) and answer.question is None


def test_a_sample_is_counted_when_it_is_first_shown() -> None:
    sent: list[tuple[str, int]] = []
    shown = [1, 1, None, 2, 2]

    def look(_: bytes) -> LabelView:
        number = shown.pop(0)
        question = None if number is None else LabelQuestion(number, "", None, [0.5], ["a", "b"])
        return LabelView(question, 0, 0, 0.0, False, 0, 0, 0)

    counted = ShownSamples(lambda what, size: sent.append((what, size))).counting(look)
    while shown:
        counted(b"")
    assert [what for what, _ in sent] == [SHOWN, SHOWN] and all(size > 10 for _, size in sent)
