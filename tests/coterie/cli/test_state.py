"""The state directory of a command: nothing is done to one of somebody else."""

import os
from pathlib import Path

import pytest

from coterie.cli.failures import Failed
from coterie.cli.state import need_state


def test_another_users_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    # Tests may run as root, who may read everything.
    monkeypatch.setattr(os, "access", lambda _path, mode: mode == os.F_OK)
    with pytest.raises(Failed, match=f"{tmp_path} is another user's"):
        need_state(None)
