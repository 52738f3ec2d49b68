"""What is installed beside the running agent, and where; pip is a shell script that notes its arguments."""

from pathlib import Path

import pytest

from coterie_agent.errors import AgentError
from coterie_agent.updating.staging import stage
from coterie_agent.versions.state import Base, Versions


def test_all_that_an_update_writes_is_in_the_releases_own_directory(tmp_path: Path) -> None:
    """So that the next attempt, or the next release, removes what a killed agent has left."""
    versions = Versions(tmp_path / "versions")
    versions.root.mkdir()
    wheel = tmp_path / "coterie_agent-9.0.0-py3-none-any.whl"
    wheel.touch()
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/arguments"\nexit 1\n')
    python.chmod(0o755)
    with pytest.raises(AgentError, match="exit code 1"):
        stage("9.0.0", [wheel], base=Base("0.2.0", str(python), ()), versions=versions)
    words = (tmp_path / "arguments").read_text().split()
    found = Path(words[words.index("--find-links") + 1])
    assert versions.folder("9.0.0") in found.parents
