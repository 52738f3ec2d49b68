"""The command as a person meets it: sections, suggestions, one way to fail, and nothing made by looking."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from coterie.cli.command import LATER, PLACES, SECTIONS, coterie, imported
from coterie.cli.state import DATABASE

Ended = subprocess.CompletedProcess[str]
MAIN = "from coterie.cli import main; main()"
DJANGOS = {"--settings", "--pythonpath", "--traceback", "--version", "--verbosity", "--skip-checks"}
"""Options that Django gives each of its commands."""


def run(*arguments: str, cwd: Path, code: str = MAIN, **variables: str) -> Ended:
    kept = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env=kept | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_tells_every_command_by_section() -> None:
    told = CliRunner().invoke(coterie, ["--help"]).output
    assert [line for line in told.splitlines() if line.endswith(":") and line != "Options:"] == [
        f"{section}:" for section in SECTIONS
    ]
    assert all(f"\n  {name} " in told for name in PLACES)


def test_telling_them_imports_neither_the_simulator_nor_its_numbers(tmp_path: Path) -> None:
    heavy = (
        "print(*(sys.modules.keys() & {'numpy', 'coterie.simulation', 'coterie_learning', 'django'}), file=sys.stderr)"
    )
    ended = run("--help", cwd=tmp_path, code=f"import atexit, sys; atexit.register(lambda: {heavy})\n{MAIN}")
    assert ended.returncode == 0
    assert ended.stderr.split() == []


def test_what_is_imported_later_says_of_itself_what_is_told_of_it() -> None:
    for name, told in LATER.items():
        assert imported(name).get_short_help_str(90) == told


def test_tells_its_own_version() -> None:
    assert CliRunner().invoke(coterie, ["--version"]).output == "coterie, version 0.1.0\n"


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ("upp", "Did you mean `coterie up`?"),
        ("device", "`coterie devices`"),
        ("zzz", "There is no command 'zzz'."),
    ],
)
def test_suggests_what_may_have_been_meant(given: str, near: str) -> None:
    result = CliRunner().invoke(coterie, [given])
    assert (result.exit_code, near in result.output) == (2, True)


def test_explains_commands_of_every_kind() -> None:
    explained = CliRunner().invoke(coterie, ["help", "devices", "list"]).output
    assert "--status" in explained and "--json" in explained


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["help"], ["upp"], ["devices", "list"], ["token", "create", "ci", "--operator", "ada"]],
    ids=" ".join,
)
def test_leaves_nothing_behind_where_nothing_was_begun(arguments: list[str], tmp_path: Path) -> None:
    run(*arguments, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["up", "serve", "token", "sign-in-link", "seed-fleet", "simulate", "audit-privacy", "migrate"]
)
def test_the_help_of_what_runs_here_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    explained = run("help", name, cwd=tmp_path)
    assert (explained.returncode, explained.stderr, list(tmp_path.iterdir())) == (0, "", [])
    assert f"usage: coterie {name} " in explained.stdout.replace("Usage", "usage")
    assert not DJANGOS & set(re.findall(r"--[\w-]+", explained.stdout))


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["up", "--prot", "80"], 2),
        (["up", "--port", "99999"], 2),
        (["up", "--port", "x"], 2),
        (["seed-fleet", "--devices", "0"], 2),
        (["migrate", "--typo"], 2),
        (["serve"], 1),
        (["up", "--state", "state", "--typo"], 2),
        (["up", "--host", "192.0.2.7", "--port", "0"], 1),  # an address that no machine has
    ],
)
def test_options_that_do_not_fit_make_no_state(arguments: list[str], status: int, tmp_path: Path) -> None:
    ended = run(*arguments, cwd=tmp_path)
    assert (ended.returncode, list(tmp_path.iterdir())) == (status, []), ended.stderr
    assert "Traceback" not in ended.stderr


def test_only_manage_py_has_django_s_options(tmp_path: Path) -> None:
    ended = run("demo", "--version", cwd=tmp_path)
    assert (ended.returncode, "unrecognized arguments: --version" in ended.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["demo", "--devices", "0"], "Error: --devices goes from 1 to 100"),
        (["login", "fleet"], "Error: 'fleet' is not the URL of a platform, as https://fleet.example. [cli.not_a_url]"),
    ],
)
def test_every_command_fails_alike(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    ended = run(*arguments, cwd=tmp_path)
    assert (ended.returncode, ended.stderr.rstrip()) == (1, sentence)


@pytest.mark.parametrize(
    ("arguments", "environment", "code"),
    [
        (["sign-in-link", "ada"], {}, "cli.no_state"),
        (["up", "--state", "/dev/null"], {}, "cli.state_unusable"),
        (["up"], {"COTERIE_PORT": "80"}, "cli.environment"),
        (["up"], {"COTERIE_MODE": "cluster"}, "cli.environment"),
        (["migrate"], {"COTERIE_EXPORTERS": "unheard_of"}, "cli.environment"),
        (["token", "create", "ci", "--operator", "ada"], {"COTERIE_MODE": "scaled"}, "cli.environment"),
    ],
)
def test_tells_what_is_wrong_in_a_sentence_with_a_code(
    arguments: Sequence[str], environment: dict[str, str], code: str, tmp_path: Path
) -> None:
    failed = run(*arguments, cwd=tmp_path, **environment)
    assert failed.returncode == 1
    assert failed.stderr.startswith("Error: ") and failed.stderr.rstrip().endswith(f"[{code}]")
    assert "Traceback" not in failed.stderr


@pytest.mark.parametrize("command", [["scrub"], ["backup", "copy"]])
def test_says_that_the_tables_are_to_be_made_first(command: Sequence[str], tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / DATABASE).touch()
    failed = run(*command, "--state", str(state), cwd=tmp_path)
    assert failed.returncode == 1
    assert "say `coterie migrate` first. [cli.other_schema]" in failed.stderr and "Traceback" not in failed.stderr


def test_a_reader_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    program = (
        "import os, coterie.cli.command as command\n"
        "reading, writing = os.pipe()\n"
        "os.close(reading), os.dup2(writing, 1)\n"
        "command.main()"
    )
    ended = run("--help", cwd=tmp_path, code=program)
    assert ended.stderr == ""


def test_simulations_start_without_the_platform_and_what_others_need() -> None:
    """A person waits for it: the platform's apps and their database, Celery, HTTP and PyTorch take most of a start."""
    command = [sys.executable, "-X", "importtime", "-m", "coterie", "simulate", "--list"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = (line for line in ended.stderr.splitlines() if line.startswith("import time:"))
    loaded = {line.rpartition("|")[2].strip() for line in lines}
    assert "coterie.simulation.fleet.simulate_fleet" in loaded
    assert not {"celery", "coterie.config.settings", "django.db.models", "httpx", "torch"} & loaded
