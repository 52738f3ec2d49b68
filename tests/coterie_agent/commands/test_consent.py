"""What an owner reads of what was agreed to, and takes back, at a terminal."""

import msgspec
import pytest

from coterie_agent.cli import main
from coterie_agent.home import Home
from coterie_agent.store.journal import Status
from coterie_agent.store.opened import Store
from coterie_wire.conditions import Conditions

STATUS = Status(
    at=1.0,
    link="https",
    link_problem=None,
    conditions=Conditions(),
    blockers=(),
    wait=None,
    progress=None,
    version=None,
    federations=("digits", "places"),
)


@pytest.fixture
def told(joined: Store, home: Home) -> Home:
    """The platform has named the device's federations, and its owner has agreed."""
    joined.agreements.agree(("readable",), how="terminal", read="")
    joined.journal.write_status(STATUS)
    return home


def consent(home: Home, *arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["--home", str(home.root), "consent", *arguments])
    return ended.value.code


def test_each_federation_is_a_part_that_can_be_taken_back(told: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert consent(told) == 0
    assert "agreed: federation:places: Your device takes part in places." in capsys.readouterr().out
    assert consent(told, "--take-back", "federation:places") == 0
    out = capsys.readouterr().out
    assert "taken back: federation:places" in out
    assert "knows no federation" not in out


def test_one_whose_name_is_misspelt_is_told(told: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert consent(told, "--take-back", "federation:place") == 0
    assert "this device knows no federation 'place'; it knows digits, places" in capsys.readouterr().out


def test_before_the_platform_has_named_any(told: Home, joined: Store, capsys: pytest.CaptureFixture[str]) -> None:
    joined.journal.write_status(msgspec.structs.replace(STATUS, federations=()))
    assert consent(told, "--take-back", "federation:digits") == 0
    assert "it knows none yet" in capsys.readouterr().out
