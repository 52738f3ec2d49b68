"""``coterie releases`` from the first key to what a platform passes on."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from pytest_django import Settings

from coterie.cli.command import coterie
from coterie_wire.updating import agent_wheel
from tests.coterie.agent_rollouts.world import published_in

pytestmark = pytest.mark.django_db


def run(*arguments: object) -> str:
    ended = CliRunner().invoke(coterie, ["releases", *map(str, arguments)])
    assert ended.exit_code in (0, 1), ended.output
    return ended.output


@pytest.fixture
def state(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As the directory of a platform looks to the command."""
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    # It is set up already: a second time it would begin to log to the output that only this command has.
    monkeypatch.setattr("django.setup", lambda: None)
    (tmp_path / "coterie.sqlite3").touch()
    published_in(tmp_path / "releases", settings)
    return tmp_path


def test_a_release_is_signed_published_and_kept_fresh(state: Path) -> None:
    repository, keys, wheel = state / "signed", state / "keys", state / agent_wheel("1.0")
    wheel.write_bytes(b"a wheel")
    (state / "passphrase").write_text("open sesame\n")
    signing = ("--keys", keys, "--passphrase-file", state / "passphrase")
    here, online = ("--state", state), ("--online", keys / "online-1.pem")
    assert "releases.nothing_published" in run("show", *here)
    assert "releases.bad_repository" in run("publish", repository, *here)

    assert "coterie releases publish" in run("init", repository, *signing, "--root-keys", 1, "--threshold", 1)
    assert "releases.nothing_published" in run("refresh", *online, *here)
    assert "agent 1.0 is in" in run("add", repository, wheel, *signing)
    assert "2 files" in run("publish", repository, *here)
    assert run("show", repository) == run("show", *here), "a platform shows what was published"
    assert "timestamp until" in run("refresh", *online, *here)
    assert "releases.older" in run("publish", repository, *here)
    run("refresh", repository, *online)
    assert "0 files" in run("publish", repository, *here)
