"""Every command tells programs what it did or found: with ``--json`` standard output has that, and nothing else."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import httpx
import pytest
from click.testing import CliRunner, Result
from django.utils import timezone
from pytest_django.fixtures import Settings

from coterie.accounts.command_line import at_the_shell
from coterie.accounts.models import Operator
from coterie.accounts.second_factor import begin_second_factor, confirm_second_factor
from coterie.accounts.selectors import live_token
from coterie.accounts.services import create_operator
from coterie.cli import login
from coterie.cli.command import PLACES, coterie
from coterie.core.acting import acting_as
from coterie.core.own_address import note_address
from coterie_wire.updating import agent_wheel
from tests.coterie.accounts.authenticator import code_of
from tests.coterie.agent_rollouts.world import published_in
from tests.coterie.world import START

ID = "0b6cd6a4-7d5e-4f46-8b53-8a0f4b4d9c55"
WITHOUT: Mapping[str, str] = {
    "api": "it prints what the platform answers, which is JSON and nothing else, without being asked",
    "completion": "it prints a program for a shell",
    "demo": "people watch it until they stop it; --report FILE writes what came of it",
    "help": "it prints a text for people",
    "serve": "it runs until it is stopped, and logs to standard error",
}
"""Commands without ``--json``, and why."""
ELSEWHERE: Mapping[str, str] = {
    "audit-privacy": "it attacks for seconds: tests/coterie/simulation/attacks",
    "backup": "it needs a database of its own: tests/coterie/backup",
    "kinds allow": "it changes the Python environment: tests/system/test_custom_kinds.py",
    "kinds withdraw": "it changes the Python environment, and tells it as allow does",
    "plan": "it simulates for seconds: tests/coterie/cli/test_plan.py",
    "recipe": "it trains for seconds: tests/coterie/cli/test_recipe.py",
    "restore": "it needs a database of its own: tests/coterie/backup",
    "simulate": "it simulates for seconds: tests/coterie/simulation/test_command.py",
    "up": "it runs until it is stopped, and each line is JSON: every test in tests/system",
}
"""Commands whose ``--json`` is held to what it says in other tests."""
SPEAKING = ("coterie.cli.resources", "coterie.cli.logs", "coterie.cli.cluster", "coterie.cli.twin")
PASSWORD = "correct horse battery"


def leaves(group: click.Group, before: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Each command that does something, by the words that name it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        words = (*before, name)
        if not isinstance(found, click.Group):
            yield " ".join(words), found
            continue
        if found.invoke_without_command:
            yield " ".join(words), found
        yield from leaves(found, words)


EVERY = dict(leaves(coterie))
ASKING = {
    name: command
    for name, command in EVERY.items()
    if PLACES[name.split()[0]].startswith(SPEAKING) and name not in WITHOUT
}
"""Those that ask a running platform."""
HERE = EVERY.keys() - ASKING.keys() - WITHOUT.keys() - ELSEWHERE.keys()


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize("answer", [{"id": ID, "next": None, "results": []}, None], ids=["one", "nothing"])
def test_what_a_platform_answers_is_passed_on(
    name: str, answer: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(tmp_path, monkeypatch)
    if name == "logs lines" and answer is None:
        answer = {"next": None, "results": []}  # it reads pages, and a platform always answers with one
    ended = invoke(*name.split(), *filled(name, ASKING[name], tmp_path), transport=answering(answer))
    assert json.loads(ended.stdout) in (answer, [], {"file": str(tmp_path / "file")})


def signed_in(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A platform has been chosen."""
    monkeypatch.setattr(login, "FILE", directory / "login.json")
    login.FILE.write_text(json.dumps({"url": "http://fleet.example", "token": "x"}))


def answering(answer: object) -> httpx.MockTransport:
    """A platform that answers every request alike; None: without content."""
    content = b"" if answer is None else json.dumps(answer).encode()
    return httpx.MockTransport(lambda _request: httpx.Response(200, content=content))


def filled(name: str, command: click.Command, directory: Path) -> Iterator[str]:
    """Arguments for all that a command must be given; `change` wants something to change."""
    for parameter in command.params:
        is_first_change = name.endswith(" change") and parameter is command.params[-1]
        if isinstance(parameter, click.Argument):
            yield ID
        elif parameter.required or is_first_change:
            yield from (parameter.opts[0], ID)


def invoke(*arguments: str, given: str = "", transport: httpx.BaseTransport | None = None) -> Result:
    """`coterie` with ``--json``; what is done goes well, or fails as it says."""
    ended = CliRunner().invoke(coterie, [*arguments, "--json"], input=given, obj=transport)
    assert ended.exit_code == 0, (arguments, ended.output)
    return ended


@pytest.fixture
def state(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As the directory of a platform looks to commands, with an operator who has a second factor."""
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    # It is set up already: a second time it would begin to log to the output that only this command has.
    monkeypatch.setattr("django.setup", lambda: None)
    (tmp_path / "coterie.sqlite3").touch()
    published_in(tmp_path / "releases", settings)
    settings.STATE, settings.SIGNING_KEY, settings.DEVICE_CA_KEY = tmp_path, "", ""
    signed_in(tmp_path, monkeypatch)
    ada = create_operator(username="ada").operator
    with acting_as(at_the_shell()):
        factor = begin_second_factor(operator=ada, now=START)
        confirm_second_factor(operator=ada, code=code_of(factor, at=START), now=START)
    return tmp_path


@pytest.mark.django_db(transaction=True)
def test_what_is_done_here_is_told(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, object] = {}
    for name, arguments in runs(state).items():
        ended = invoke(*name.split(), *arguments, given=PASSWORD, transport=answering({"operator": None}))
        told[name] = json.loads(ended.stdout)
    assert told.keys() == HERE - {"answer-stun", "changepassword", "compile"}
    assert told["createsuperuser"] == {"operator": "eve"}
    assert Operator.objects.get(username="eve").role == "administrator"
    assert told["change-role"] == {"operator": "ada", "role": "viewer"}
    assert told["migrate"] == {"applied": True, "migrations": []}
    assert told["login"] == {"url": "http://fleet.example", "operator": None}
    assert told["logout"] == {"was_kept": True}


@pytest.mark.django_db(transaction=True)
def test_beside_the_state_directory_nobody_says_a_token(state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        note_address(state, f"http://127.0.0.1:{listening.getsockname()[1]}")
        invoke("login", "--operator", "ada", transport=answering({"operator": {"username": "ada", "role": "viewer"}}))
    assert live_token(json.loads(login.FILE.read_text())["token"], now=timezone.now()).operator.username == "ada"


def runs(state: Path) -> Mapping[str, Sequence[str]]:
    """Arguments of each command, in an order in which each finds what it needs."""
    signed, keys, wheel = state / "signed", state / "keys", state / agent_wheel("1.0")
    wheel.write_bytes(b"a wheel")
    (state / "passphrase").write_text("open sesame\n")
    signing = (str(signed), "--keys", str(keys), "--passphrase-file", str(state / "passphrase"))
    return {
        "capacity": ("--devices", "1000"),
        "kinds": (),
        "migrate": (),
        "doctor": (),
        "createsuperuser": ("--noinput", "--username", "eve", "--email", "eve@example.org"),
        "reset-second-factor": ("ada",),
        "change-role": ("ada", "viewer"),
        "token": ("create", "ci", "--operator", "ada"),
        "sign-in-link": ("ada", "--url", "http://fleet.example"),
        "scrub": (),
        "collect-blobs": ("--strays",),
        "prune-history": (),
        "device-authority": (),
        "rotate-signing-key": (),
        "releases init": (*signing, "--root-keys", "1", "--threshold", "1"),
        "releases add": (signing[0], str(wheel), *signing[1:]),
        "releases publish": (str(signed),),
        "releases show": (str(signed),),
        "releases refresh": (str(signed), "--online", str(keys / "online-1.pem")),
        "releases renew": signing,
        "releases rotate": (signing[0], "online", *signing[1:]),
        "releases withdraw": (signing[0], "1.0", *signing[1:]),
        "seed-fleet": ("--devices", "20"),
        "login": ("http://fleet.example", "--token-stdin"),
        "logout": (),
    }


@pytest.mark.django_db(transaction=True)
def test_a_password_is_asked_for_beside_standard_output(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.accounts.management.commands.changepassword.getpass", lambda _prompt: PASSWORD)
    assert json.loads(invoke("changepassword", "ada").stdout) == {"operator": "ada"}


def test_a_model_that_is_refused_is_told(tmp_path: Path) -> None:
    (tmp_path / "none.pt2").write_bytes(b"no model")
    ended = CliRunner().invoke(coterie, ["compile", str(tmp_path / "none.pt2"), "--json"])
    assert (ended.exit_code, "code" in json.loads(ended.stdout)) == (1, True)


def test_who_answers_until_it_is_stopped_tells_where_in_a_line() -> None:
    program = "from coterie.cli import main; main()"
    arguments = ["answer-stun", "--host", "127.0.0.1", "--port", "0", "--json"]
    with subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True) as answering_:
        assert answering_.stdout is not None
        first = answering_.stdout.readline()
        answering_.kill()
    assert json.loads(first) == {"host": "127.0.0.1", "port": 0}


@pytest.mark.parametrize("name", EVERY)
def test_every_command_has_it_or_a_reason(name: str) -> None:
    command = EVERY[name]
    if name.split()[0] in WITHOUT:
        assert not any("--json" in parameter.opts for parameter in command.params)
    elif not command.context_settings.get("allow_extra_args"):  # what is passed on is parsed by who performs it
        assert any("--json" in parameter.opts for parameter in command.params)


def test_no_reason_is_of_a_command_that_is_gone() -> None:
    assert WITHOUT.keys() | ELSEWHERE.keys() <= EVERY.keys()
    assert len(ASKING) > 100
