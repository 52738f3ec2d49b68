"""The owner's page for his phone, from real agents: a link of `join` or `page`, TLS, a cookie, and its end."""

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coterie_agent.cli import main
from coterie_agent.commands.join import settings
from coterie_agent.config import load_config
from coterie_agent.errors import Exit
from coterie_agent.home import Home
from coterie_agent.network_page.link import OFF_NETWORK
from tests.coterie_agent.fake_platform import TOKEN, FakePlatform
from tests.coterie_agent.network_page.phone import Phone
from tests.coterie_agent.test_cli import READY, ask, running


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def home(tmp_path: Path, port: int) -> Path:
    """What its owner has written before the device joins."""
    home = tmp_path / "agent"
    home.mkdir()
    (home / "conditions.json").write_text(READY)
    page = f'[page]\non_network = true\naddress = "127.0.0.1"\nport = {port}\n'
    (home / "agent.toml").write_text(f'conditions_file = "conditions.json"\n{page}')
    return home


@pytest.fixture
def joined(home: Path, platform: FakePlatform) -> dict[str, Any]:
    """What joining printed."""
    code, joined = ask(home, "join", platform.url, TOKEN, "--yes", "--name", "kiosk")
    assert code == 0
    return dict(joined)


@pytest.fixture
def agent(home: Path, joined: dict[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    with running(home) as process:
        eventually_opened(home)
        yield process


def eventually_opened(home: Path) -> dict[str, Any]:
    """What `page` prints once the page is on the network."""
    ends_at = time.monotonic() + 20
    while not (told := ask(home, "page")[1]).get("on_network"):
        assert time.monotonic() < ends_at, told
        time.sleep(0.1)
    return dict(told)


def authority(link: str) -> str:
    return link.removeprefix("https://").partition("/")[0]


def test_the_link_that_join_prints_opens_the_page_once_the_agent_runs(
    home: Path, joined: dict[str, Any], port: int
) -> None:
    link = joined["page"]
    assert authority(link) == f"127.0.0.1:{port}"
    phone = Phone(authority(link))
    with running(home) as process:
        ends_at = time.monotonic() + 20
        while not (home / "network-page.json").exists():
            assert time.monotonic() < ends_at
            time.sleep(0.1)
        assert phone.open(link) == 200
        assert phone.fingerprint == joined["fingerprint"]
        status, _, content = phone.ask("GET", "/owner")
        assert (status, json.loads(content)["report"]["name"]) == (200, "kiosk")
        assert phone.ask("POST", "/choices", {"paused_until": 7.0})[0] == 200
        for path in ("/status", "/labels"):
            assert phone.ask("GET", path)[0] in (403, 404)
        assert phone.code("POST", "/samples", {"samples": []}) == (404, "local_api.unknown_path")
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert not (home / "network-page.json").exists()
    with running(home):
        assert eventually_opened(home)["phones"] == 1
        assert phone.ask("GET", "/owner")[0] == 200, "a restart signs nobody out"


@pytest.mark.usefixtures("agent")
def test_phones_are_let_in_by_page_and_signed_out(home: Path) -> None:
    first, told = ask(home, "page")[1], ask(home, "page")[1]
    assert told["url"].startswith("http://127.0.0.1:") and told["fingerprint"] == first["fingerprint"]
    phone, late = Phone(authority(told["on_network"])), Phone(authority(told["on_network"]))
    assert late.open(first["on_network"]) == 403, "another link has taken its place"
    assert phone.open(told["on_network"]) == 200
    assert ask(home, "page", "--sign-out") == (0, {"phones": 1})
    assert phone.code("GET", "/owner") == (401, "page.not_let_in")


def test_leaving_from_the_phone_ends_the_agent_and_signs_it_out(
    home: Path, agent: subprocess.Popen[bytes], platform: FakePlatform
) -> None:
    told = ask(home, "page")[1]
    phone = Phone(authority(told["on_network"]))
    assert phone.open(told["on_network"]) == 200
    assert phone.ask("POST", "/leave", {"name": "kiosk"})[0] == 200
    assert agent.wait(10) == Exit.NOT_JOINED
    assert not Home(home).page_certificate.exists()
    assert ask(home, "join", platform.url, TOKEN, "--yes", "--name", "kiosk")[0] == 0
    with running(home):
        assert eventually_opened(home)["phones"] == 0
        assert phone.code("GET", "/owner") == (401, "page.not_let_in")


@pytest.mark.usefixtures("joined")
def test_what_is_in_its_way_is_said_and_the_agent_works(home: Path, port: int) -> None:
    with socket.create_server(("127.0.0.1", port)), running(home):
        ends_at = time.monotonic() + 20
        while "page.port_taken" not in (told := ask(home, "page")[1]).get("problem", ""):
            assert time.monotonic() < ends_at, told
            time.sleep(0.1)
        assert told["url"] and not told["on_network"]


def test_off_by_default_it_is_said_how_to_turn_it_on(
    tmp_path: Path, platform: FakePlatform, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "other"
    with pytest.raises(SystemExit):
        main(["--home", str(home), "join", platform.url, TOKEN, "--yes"])
    assert OFF_NETWORK in capsys.readouterr().out
    with running(home):
        ends_at = time.monotonic() + 20
        while not (told := ask(home, "page")[1]).get("url"):
            assert time.monotonic() < ends_at
            time.sleep(0.1)
        assert not told["on_network"] and not (home / "network-page.json").exists()


def test_joining_turns_it_on_where_there_are_no_settings_yet(
    tmp_path: Path, home: Path, platform: FakePlatform, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "agent.toml").write_text("")
    code, failure = ask(home, "join", platform.url, TOKEN, "--yes", "--page-on-network")
    assert (code, failure["code"]) == (Exit.USAGE, "page.settings_are_there")
    fresh = tmp_path / "fresh"
    code, failure = ask(fresh, "join", platform.url, TOKEN, "--yes", "--page-on-network")
    assert (code, failure["code"]) == (Exit.BAD_CONFIG, "page.no_address"), "the platform is on this machine"
    assert not platform.received, "the token is not spent"
    (home / "agent.toml").write_text('[page]\non_network = true\naddress = "127.0.0.1"\n')
    with pytest.raises(SystemExit):
        main(["--home", str(home), "join", platform.url, TOKEN, "--yes", "--page-on-network"])
    printed = capsys.readouterr().out
    assert "█" in printed and "https://127.0.0.1:8719/#" in printed and OFF_NETWORK not in printed


def test_the_settings_that_join_writes_have_it_on(tmp_path: Path) -> None:
    for wanted in (True, False):
        (tmp_path / "agent.toml").write_text(settings(on_network=wanted))
        assert load_config(tmp_path / "agent.toml").page.on_network is wanted
