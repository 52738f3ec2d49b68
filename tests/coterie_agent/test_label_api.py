"""Questions about labels through the local API of a running agent."""

import json
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.labels import Labels
from coterie_agent.store.opened import open_store
from coterie_agent.store.sealing import seal
from coterie_learning.labelling import Labelling
from coterie_wire.messages import LabelFacts
from tests.coterie_agent.bundles import make_bundle
from tests.coterie_agent.fake_platform import TOKEN, FakePlatform
from tests.coterie_agent.test_cli import READY, ask, running
from tests.coterie_agent.test_owner_api import Api

UNSURE, CLEAR = [0.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 0.0]


@pytest.fixture
def home(tmp_path: Path, platform: FakePlatform) -> Path:
    home = tmp_path / "agent"
    home.mkdir()
    (home / "agent.toml").write_text(
        'conditions_file = "conditions.json"\n[policy]\nhours = [0, 0]\n[labels]\nper_day = 2\nquiet = [0, 0]\n'
    )
    (home / "conditions.json").write_text(READY)
    assert ask(home, "join", platform.url, TOKEN, "--yes", "--name", "kiosk")[0] == 0
    (tmp_path / "s.jsonl").write_text('{"x": [1, 2, 3, 4], "y": 0}\n')
    assert ask(home, "ingest", str(tmp_path / "s.jsonl"))[0] == 0
    return home


@pytest.fixture
def api(home: Path, platform: FakePlatform) -> Iterator[Api]:
    platform.champion, platform.check_in_s = True, 0.3
    platform.evaluated = make_bundle(version="e")  # a platform of today
    with running(home) as process:
        platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
        yield Api.of(home)
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def post(api: Api, path: str, body: object) -> dict:
    status, _, content = api.ask("POST", path, body)
    assert status == 200, content
    return dict(json.loads(content))


def test_the_owner_is_asked_little_and_may_slip_and_skip(api: Api, home: Path, platform: FakePlatform) -> None:
    assert api.get("/labels")["question"] is None
    labels = Labels(home)
    assert labels.observe(CLEAR, 1) == 2
    assert [labels.ask_label(x, shown="seen at noon") for x in (CLEAR, UNSURE, CLEAR)] == [1, 2, 3]
    with pytest.raises(AgentError, match="1 features, expected 4") as refused:
        labels.ask_label([1.0])
    assert refused.value.code == "ingest.wrong_width"
    first = api.get("/labels")
    assert (first["question"]["x"], first["question"]["shown"]) == (UNSURE, "seen at noon")
    assert first["question"]["options"] == ["red", "green", "blue"]
    assert api.get("/labels") == first, "who looks again is asked the same, and it counts once"
    answered = post(api, "/labels/answer", {"question": first["question"]["id"], "label": 2})
    assert (answered["given"], answered["implied"], answered["asked"], answered["left_today"]) == (1, 1, 1, 0)
    assert api.code("POST", "/labels/answer", {"question": first["question"]["id"], "label": 0})[1] == "labels.not_open"
    undone = post(api, "/labels/undo", {})
    assert (undone["asked"], undone["question"]["x"]) == (0, UNSURE), "an answer that was a slip"
    assert api.code("POST", "/labels/undo", {})[1] == "labels.nothing_to_undo"
    again = {"question": undone["question"]["id"], "label": 3}
    assert api.code("POST", "/labels/answer", again) == (422, "labels.no_such_class")
    second = post(api, "/labels/answer", {**again, "label": 0})["question"]
    last = post(api, "/labels/answer", {"question": second["id"], "label": None})
    assert (last["question"], last["left_today"], last["unlabelled"]) == (None, 0, 1), "two questions a day, no more"
    platform.wait_for(lambda: platform.check_ins[-1].metadata.labels == LabelFacts(1, 1, 1, 2, 1))
    with open_store(Home(home)) as store:
        assert store.samples.class_counts() == (2, 1)
        assert store.labelling.kinds() == {"asked": 1, "implied": 1}


def test_snoozing_holds_questions_back(api: Api, home: Path) -> None:
    Labels(home).ask_label(UNSURE)
    assert post(api, "/labels/snooze", {"hours": 8})["question"] is None
    assert api.get("/labels")["left_today"] == 0
    assert post(api, "/labels/snooze", {"hours": 0})["question"]["x"] == UNSURE


def test_an_agent_that_does_not_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="coterie-agent run") as refused:
        Labels(tmp_path).observe(CLEAR, 0)
    assert refused.value.code == "local_api.not_running"


def test_what_the_disk_has_damaged_is_not_asked(tmp_path: Path) -> None:
    home = Home(tmp_path / "agent")
    with open_store(home) as store:
        store.labelling.add([(b"\0" * 16, "one"), (b"\0" * 16, "two")])
        store.labelling.save(Labelling(asked=4))
    with sqlite3.connect(home.database) as damage:
        damage.create_function("seal", -1, seal, deterministic=True)
        damage.execute("UPDATE unlabelled SET shown = 'three' WHERE shown = 'two'")
        damage.execute("UPDATE labelling SET content = '{}'")
    damage.close()
    with open_store(home) as store:
        assert [one.shown for one in store.labelling.newest(9, x_bytes=16)] == ["one"]
        assert store.labelling.state().snoozed_until > 0
        store.labelling.add([(b"\0" * 16, str(number)) for number in range(1200)])
        assert store.labelling.count() == 1000
