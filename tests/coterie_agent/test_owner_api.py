"""What the owner's page asks of a running agent, and who may not ask."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path

import msgspec
import pytest

from coterie_agent.errors import Exit
from coterie_agent.home import Home
from coterie_agent.store.choices import FOR_GOOD, Choices
from coterie_agent.store.opened import open_store
from coterie_learning.consent import WORDS
from coterie_wire.conditions import Requirements
from coterie_wire.messages import PrivacyBudget
from coterie_wire.owning import Forget, Rebuilt
from tests.coterie_agent.fake_platform import PLAN, TOKEN, Denied, FakePlatform
from tests.coterie_agent.test_cli import ENVIRONMENT, READY, ask, ask_process, command, running


class Api:
    """What serves one of the agent's pages."""

    def __init__(self, url: str, token: str) -> None:
        self.host, self.token = url.removeprefix("http://"), token

    @classmethod
    def of(cls, home: Path) -> "Api":
        """The local API of a running agent."""
        found = json.loads((home / "local-api.json").read_text())
        return cls(found["url"], found["token"])

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = HTTPConnection(self.host, timeout=20)
        sent = {"Authorization": f"Bearer {self.token}", **{name.title(): value for name, value in headers.items()}}
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    def get(self, path: str) -> dict:
        status, _, content = self.ask("GET", path)
        assert status == 200, content
        return json.loads(content)

    def code(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
        status, _, content = self.ask(method, path, body, **headers)
        return status, json.loads(content).get("code", "")


@pytest.fixture
def home(tmp_path: Path, platform: FakePlatform) -> Path:
    home = tmp_path / "agent"
    home.mkdir()
    (home / "agent.toml").write_text('conditions_file = "conditions.json"\n[policy]\nhours = [0, 0]\n')
    (home / "conditions.json").write_text(READY)
    assert ask(home, "join", platform.url, TOKEN, "--yes", "--name", "kiosk")[0] == 0
    (tmp_path / "s.jsonl").write_text('{"x": [1, 2, 3, 4], "y": 0}\n')
    assert ask(home, "ingest", str(tmp_path / "s.jsonl"))[0] == 0
    return home


@pytest.fixture
def api(home: Path, platform: FakePlatform) -> Iterator[Api]:
    platform.champion = True
    with running(home) as process:
        platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
        yield Api.of(home)
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def eventually(look: Callable[[], object]) -> None:
    ends_at = time.monotonic() + 20
    while not look():
        assert time.monotonic() < ends_at
        time.sleep(0.05)


def waits(api: Api) -> list[str]:
    return [reason["code"] for reason in api.get("/owner")["report"]["waits"]]


def test_the_page_tells_what_is_learned_and_why_not_now(api: Api, home: Path, platform: FakePlatform) -> None:
    receipt = {"at": "2026-01-01T12:00:00Z", "kind": "update", "size_bytes": 90, "sentence": "counted in version 31"}
    platform.known = {"receipts": tuple(msgspec.Raw(json.dumps(receipt).encode()) for _ in range(3))}
    view = api.get("/owner")
    assert (view["report"]["name"], view["learned"]) == ("kiosk", {"version": 1, "labels": ["red", "green", "blue"]})
    assert view["settings"]["hours"] == [0, 0]
    sent = {one["what"]: one["bytes"] for one in view["report"]["sent"]}
    assert sent["check-in"] > 0 and set(view["told"]) == set(sent)
    charges = {"what": "whether it charges", "local_noise": "clear", "masked": "clear"}
    samples = {"what": "number of its samples", "local_noise": "clear", "masked": "not sent"}
    assert charges in view["told"]["check-in"] and samples in view["told"]["check-in"]
    assert view["is_masked"] is False
    assert (view["sends_samples"], view["shows_samples"], view["answered_for"]) == (False, False, None)
    told = {"epsilon": 0, "allowed_epsilon": 8, "delta": 1e-6, "federations": {}, "raised": []}
    assert view["report"]["privacy"] == told
    assert api.get("/receipts") == {"receipts": [receipt] * 3}
    assert api.get("/export")["platform"]["sections"]["receipts"] == [receipt] * 3
    code, page = ask(home, "page")
    assert (code, page["url"]) == (0, f"http://{api.host}/#{api.token}")


def test_a_pause_and_limits_hold_within_a_moment_and_after_a_restart(home: Path, platform: FakePlatform) -> None:
    with running(home) as process:
        platform.wait_for(lambda: platform.check_ins)
        api = Api.of(home)
        assert api.ask("POST", "/choices", {"paused_until": FOR_GOOD})[0] == 200
        eventually(lambda: "owner.paused" in waits(api))
        limits = {"charging": False, "unmetered": False, "max_temperature_c": 10.0}
        assert api.ask("POST", "/choices", {"paused_until": 0, "limits": limits})[0] == 200
        eventually(lambda: waits(api) == ["conditions.temperature_unknown"])
        assert api.code("POST", "/choices", {"limits": {"hours": [1, 99]}}) == (400, "local_api.malformed")
        process.send_signal(signal.SIGTERM)
        process.wait(10)
    with running(home):
        eventually(lambda: "conditions.temperature_unknown" in [one["code"] for one in ask(home, "why")[1]["waits"]])


def test_the_owner_agrees_on_the_page_to_a_budget_that_was_raised(api: Api, home: Path) -> None:
    assert api.code("POST", "/agree", {"federation": "digits"}) == (409, "privacy.nothing_asked")
    with open_store(Home(home)) as store:
        store.promises.agree("digits", PrivacyBudget(8.0, 1e-6))
        store.promises.ask("digits", PrivacyBudget(9.0, 1e-6))
    view = api.get("/owner")["report"]
    assert view["privacy"]["raised"] == ["digits"] and "privacy.budget_raised" in waits(api)
    status, _, content = api.ask("POST", "/agree", {"federation": "digits"})
    assert (status, json.loads(content)) == (200, {"federation": "digits", "epsilon": 9.0, "delta": 1e-6})
    assert "privacy.budget_raised" not in waits(api)


def test_the_owner_agrees_on_the_page_to_what_was_shown_and_to_nothing_else(
    api: Api, home: Path, platform: FakePlatform
) -> None:
    platform.assign("a1", plan={**PLAN, "help": {"kind": "cartel"}})
    eventually(lambda: "owner.not_agreed" in waits(api))
    (question,) = api.get("/owner")["questions"]
    assert question["asked"] == {"federation": "digits", "scopes": ["help"]}
    assert any(WORDS["help"] in line for line in question["words"])
    shown = question["asked"]
    assert api.code("POST", "/consent", {**shown, "scopes": ["readable"]}) == (409, "owner.nothing_asked")
    assert api.code("POST", "/consent", shown, authorization="Bearer guess") == (401, "local_api.unauthorised")
    assert api.code("POST", "/consent", shown, origin="https://evil.example") == (403, "local_api.foreign_origin")
    assert api.get("/owner")["questions"], "whoever else asks agrees to nothing"
    assert api.ask("POST", "/consent", shown)[0] == 200
    view = api.get("/owner")
    assert view["questions"] == [] and "owner.not_agreed" not in waits(api)
    assert [(one["how"], one["scopes"]) for one in view["agreed"]] == [
        ("unattended", ["readable"]),
        ("page", ["readable", "help"]),
    ]
    assert api.get("/export")["agreed"] == view["agreed"]


def test_a_part_is_taken_back_on_the_page_told_at_once_and_given_again(api: Api, platform: FakePlatform) -> None:
    platform.ignores_unknown = True
    assert api.ask("POST", "/choices", {"paused_until": 0.0})[0] == 200
    parts = {one["part"]: one for one in api.get("/owner")["parts"]}
    assert set(parts) == {"readable", "labels"} and parts["readable"]["words"] == WORDS["readable"]
    assert api.code("POST", "/take-back", {"part": "all"}) == (409, "owner.unknown_part")
    assert api.code("POST", "/take-back", {"part": "labels"}, authorization="Bearer guess") == (
        401,
        "local_api.unauthorised",
    )
    for part in ("federation:digits", "labels"):
        assert api.ask("POST", "/take-back", {"part": part})[0] == 200
    eventually(lambda: platform.capabilities.declines == ("federation:digits",))
    assert "owner.taken_back" in waits(api)
    assert api.code("POST", "/ask-label", {"samples": [{"x": [0.0]}]}) == (403, "owner.taken_back")
    view = api.get("/owner")
    assert [one["part"] for one in view["parts"] if one["is_withdrawn"]] == ["federation:digits", "labels"]
    assert view["agreed"][-1]["withdrawn"] == ["federation:digits", "labels"]
    for part in ("federation:digits", "labels"):
        assert api.ask("POST", "/give-again", {"part": part})[0] == 200
    assert api.code("POST", "/give-again", {"part": "labels"}) == (409, "owner.not_taken_back")
    eventually(lambda: platform.capabilities.declines == ())
    assert "owner.taken_back" not in waits(api)


def test_files_are_the_same_for_all_and_carry_the_bounds_of_the_page(api: Api) -> None:
    scripts = [(f"/{name}.js", "text/javascript") for name in ("owner", "page", "receipt")]
    for path, kind in (("/", "text/html"), ("/owner.css", "text/css"), *scripts):
        status, headers, content = api.ask("GET", path, authorization="")
        assert (status, headers["Content-Type"].partition(";")[0]) == (200, kind)
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert api.token.encode() not in content and b"kiosk" not in content


def test_other_pages_are_kept_out(api: Api) -> None:
    for path in ("/", "/owner", "/export"):
        assert api.code("GET", path, host="evil.example:80") == (403, "local_api.foreign_host")
        assert api.code("GET", path, origin="https://evil.example") == (403, "local_api.foreign_origin")
        assert api.code("GET", path, origin="null") == (403, "local_api.foreign_origin")
    for path in ("/", "/owner"):
        assert api.ask("GET", path, origin=f"http://{api.host}")[0] == 200
    for path in ("/owner", "/export"):
        assert api.code("GET", path, authorization="Bearer guess") == (401, "local_api.unauthorised")


def test_leaving_and_forgetting_want_the_devices_name(api: Api, platform: FakePlatform) -> None:
    for path in ("/leave", "/forget"):
        assert api.code("POST", path, {"name": "other"}) == (422, "local_api.wrong_name")
        assert api.code("POST", path, {}) == (400, "local_api.malformed")
    assert not platform.forgotten


def test_forgotten_from_the_page_the_agent_ends_and_wipes(home: Path, platform: FakePlatform) -> None:
    with running(home) as process:
        platform.wait_for(lambda: platform.check_ins)
        status, _, content = Api.of(home).ask("POST", "/forget", {"name": "kiosk"})
        assert (status, json.loads(content)["receipt"]) == (200, *platform.forgotten)
        assert process.wait(10) == Exit.NOT_JOINED
    with open_store(Home(home)) as store:
        assert store.identity.find() is None and store.samples.count() == 1
    assert ask(home, "forget")[1]["receipt"]["done"] is True


def test_of_a_forgotten_device_the_page_is_that_of_its_receipt(home: Path, platform: FakePlatform) -> None:
    made = Rebuilt("digits", True, "version 5 holds no update of the device", version=5, done_at="2026-01-02")
    platform.forgetting = msgspec.structs.replace(platform.forgetting, rebuilt=(made,), done_at="2026-01-02")
    (receipt,) = {ask(home, "forget", "--yes")[1]["receipt"]["receipt"]}
    served = subprocess.Popen([*command(home, "page"), "--json"], env=ENVIRONMENT, stdout=subprocess.PIPE)
    with served as process:
        assert process.stdout is not None
        url, _, token = json.loads(process.stdout.readline())["url"].partition("/#")
        api = Api(url, token)
        news = api.get("/receipt")
        assert (news["receipt"], news["done_at"], news["rebuilt"][0]["version"]) == (receipt, "2026-01-02", 5)
        assert api.code("GET", "/receipt", authorization="Bearer guess") == (401, "local_api.unauthorised")
        assert api.code("GET", "/owner") == (404, "local_api.unknown_path")
        for path in ("/", "/forgotten.js", "/receipt.js", "/page.js", "/owner.css"):
            assert api.ask("GET", path, authorization="")[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_left_from_the_page_the_agent_ends_and_wipes(home: Path, platform: FakePlatform) -> None:
    def deaf(path: str) -> None:
        if path.endswith("/forget"):
            raise ConnectionError

    platform.fault = deaf
    with running(home) as process:
        platform.wait_for(lambda: platform.check_ins)
        assert Api.of(home).ask("POST", "/forget", {"name": "kiosk"})[0] != 200
        assert Api.of(home).ask("POST", "/leave", {"name": "kiosk"})[0] == 200
        assert process.wait(10) == Exit.NOT_JOINED
    assert ask(home, "status")[0] == Exit.NOT_JOINED
    assert ask(home, "forget")[1]["code"] == "agent.not_joined", "the platform never had the receipt"


def test_killed_after_it_asked_the_next_start_ends_it(home: Path, platform: FakePlatform) -> None:
    def away(path: str) -> None:
        if path.endswith("/forget"):
            raise ConnectionError

    platform.fault = away
    assert ask(home, "forget", "--yes")[0] == Exit.UNREACHABLE
    status, failure = ask_process(home, "run")
    assert (status, failure["code"]) == (Exit.UNREACHABLE, "link.unreachable")
    assert "asked for this device to be forgotten" in failure["detail"]

    def ended(path: str) -> None:
        if path.endswith("/forget"):
            raise Denied(401, "fleet.left", "This device has left the fleet.")

    (asked,) = {message.receipt for message in platform.received if isinstance(message, Forget)} or {None}
    kept = json.loads((home / "forgotten.json").read_text())["receipt"]
    assert asked in (None, kept)
    platform.forgotten.add(kept)
    platform.fault = ended
    with running(home) as process:
        assert process.wait(10) == Exit.NOT_JOINED
    assert ask(home, "status")[0] == Exit.NOT_JOINED


def test_without_a_running_agent_there_is_no_page(home: Path) -> None:
    assert ask(home, "page")[1]["code"] == "agent.no_page"


def test_damaged_choices_rest_the_device(tmp_path: Path) -> None:
    chosen = Choices(paused_until=7.0, limits=Requirements(idle=True))
    with open_store(Home(tmp_path)) as store:
        store.choices.save(chosen)
        assert store.choices.load() == chosen
        with store.choices._database.transaction() as cursor:
            cursor.execute("UPDATE choices SET content = x'7b7d'")
        assert store.choices.load() == Choices(paused_until=FOR_GOOD)
