"""What a device's owner is told and asked before the device joins; the token is spent only once he has agreed."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coterie_agent.cli import main
from coterie_agent.errors import Exit
from coterie_agent.home import Home
from coterie_agent.store.agreements import Agreement
from coterie_agent.store.opened import open_store
from coterie_learning.consent import WORDS
from coterie_wire.conditions import Requirements
from coterie_wire.invitation import Learned
from coterie_wire.messages import Enrol
from tests.coterie_agent.fake_platform import CREDENTIAL, TOKEN, Denied, FakePlatform

HELPS = Learned("digits", ("zero", "one"), Requirements(hours=(22, 7), max_temperature_c=50.0), "clip", "cartel")
SUMS = Learned("voices", (), Requirements(charging=False, unmetered=False), "secure_aggregation")
OF_LATER = Learned("of later", (), Requirements(), "of_later")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Join = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "agent"


@pytest.fixture
def join(
    home: Path, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Join:
    def run(*arguments: str, types: str | None = None, token: str = TOKEN) -> tuple[int, str, str]:
        """Exit code, standard output and error; `types` is what the owner types, None: nobody is there."""
        monkeypatch.setattr(sys, "stdin", io.StringIO() if types is None else Terminal(types))
        with pytest.raises(SystemExit) as ended:
            main(["--home", str(home), "join", platform.url, token, *arguments])
        return (int(ended.value.code or 0), *capsys.readouterr())

    return run


def editions(home: Path) -> tuple[Agreement, ...]:
    with open_store(Home(home)) as store:
        return store.agreements.editions()


def has_enrolled(platform: FakePlatform) -> bool:
    return any(isinstance(message, Enrol) for message in platform.received)


def test_the_owner_reads_what_is_asked_and_agrees_at_the_terminal(
    join: Join, home: Path, platform: FakePlatform
) -> None:
    platform.learned = (HELPS, SUMS)
    code, out, shown = join(types="Yes\n")
    assert code == 0 and "joined" in out
    for told in (
        "digits: to tell apart zero, one.",
        "It trains while it is charging, and it is on Wi-Fi or Ethernet, and it is no hotter than 50 °C, and it is "
        "between 22:00 and 7:00.",
        "voices.\n  It trains at any time.",
        *(WORDS[scope] for scope in ("readable", "summed", "help")),
        "parts of its model, for devices that ask for help",
        "you are asked first",
        "[y/N]",
    ):
        assert told in shown
    (edition,) = editions(home)
    assert (edition.how, edition.scopes) == ("terminal", ("readable", "summed", "help"))
    assert edition.read in shown


@pytest.mark.parametrize("types", ["n\n", "\n", "", "maybe\n"])
def test_who_does_not_agree_has_not_joined_and_spends_no_token(
    join: Join, home: Path, platform: FakePlatform, types: str
) -> None:
    code, _, told = join(types=types)
    assert (code, "[owner.declined]" in told) == (Exit.USAGE, True)
    assert not has_enrolled(platform) and editions(home) == ()


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_where_nobody_can_be_asked_joining_says_what_to_do(
    join: Join, platform: FakePlatform, arguments: tuple[str, ...]
) -> None:
    code, out, told = join(*arguments)
    assert code == Exit.USAGE and "owner.nobody_to_ask" in out + told
    assert "--yes" in out + told and WORDS["readable"] in told
    assert not has_enrolled(platform)


def test_programs_are_never_prompted(join: Join, platform: FakePlatform) -> None:
    assert join("--json", types="y\n")[0] == Exit.USAGE
    assert not has_enrolled(platform)


def test_unattended_provisioning_agrees_to_what_it_prints(join: Join, home: Path, platform: FakePlatform) -> None:
    platform.learned = (SUMS,)
    code, out, _ = join("--yes", "--json")
    joined: dict[str, Any] = json.loads(out)
    assert (code, joined["agreed"]) == (0, ["summed"])
    (edition,) = editions(home)
    assert (edition.how, edition.scopes, edition.read) == ("unattended", ("summed",), joined["read"])


def test_settings_that_accept_what_plans_ask_need_nobody(join: Join, home: Path) -> None:
    home.mkdir()
    (home / "agent.toml").write_text('[consent]\nmore = "accept"\n')
    code, out, _ = join()
    assert code == 0 and WORDS["readable"] in out and "agent.toml agrees to it" in out
    assert [(one.how, one.scopes) for one in editions(home)] == [("settings", ("readable",))]


@pytest.mark.parametrize(("learned", "told"), [((), "Nothing yet"), ((OF_LATER,), "cannot take part in it yet")])
def test_where_nothing_is_asked_nothing_is_agreed_to(
    join: Join, home: Path, platform: FakePlatform, learned: tuple[Learned, ...], told: str
) -> None:
    platform.learned = learned
    code, out, _ = join("--yes")
    assert (code, told in out) == (0, True)
    assert [one.scopes for one in editions(home)] == [()]


def test_a_platform_that_does_not_tell_what_it_asks_is_joined(join: Join, home: Path, platform: FakePlatform) -> None:
    def older(path: str) -> None:
        if path.endswith("read-invitation"):
            raise Denied(404, "gateway.unknown_message")

    platform.fault = older
    assert join("--yes")[0] == 0
    assert [one.scopes for one in editions(home)] == [()]


def test_a_token_that_lets_nobody_join_says_so_before_anything_is_asked(join: Join, platform: FakePlatform) -> None:
    code, _, told = join(token="used", types="y\n")
    assert (code, "[y/N]" in told) == (Exit.REFUSED, False)


def test_an_answer_that_is_lost_is_asked_for_again_with_the_same_credential(
    join: Join, home: Path, platform: FakePlatform
) -> None:
    def lose(path: str) -> None:
        if path.endswith("/enrol"):
            raise ConnectionResetError

    platform.fault = lose
    code, _, told = join("--yes")
    assert (code, "run the same command again" in told) == (Exit.UNREACHABLE, True)
    platform.fault = None
    assert join("--yes")[0] == 0
    shown = {headers["Authorization"] for headers in platform.headers}
    assert len(shown) == 1
    assert shown != {f"Bearer {CREDENTIAL}"}, "it is the device's own until the platform has answered"
    assert Home(home).credential.read_text() == CREDENTIAL
    assert not Home(home).joining_credential.exists()


def test_another_platform_or_token_is_shown_another_credential(home: Path) -> None:
    with open_store(Home(home)) as store:
        invitations = (("a", "t"), ("a", "t"), ("b", "t"), ("b", "u"))
        drawn = [store.identity.draw_joining_credential(url, token) for url, token in invitations]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3
