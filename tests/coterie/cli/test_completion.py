"""Shells complete commands by a script that the command prints."""

import pytest
from click.testing import CliRunner

from coterie.cli.command import coterie
from coterie.cli.completion import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_prints_a_script_for_the_shell(shell: str) -> None:
    result = CliRunner().invoke(coterie, ["completion", shell])
    assert result.exit_code == 0 and f"{shell}_complete" in result.output


def test_completes_a_command() -> None:
    result = CliRunner(
        env={"_COTERIE_COMPLETE": "bash_complete", "COMP_WORDS": "coterie fed", "COMP_CWORD": "1"}
    ).invoke(coterie, prog_name="coterie", standalone_mode=True)
    assert result.output == "plain,federations\n"
