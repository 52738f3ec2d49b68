"""The spool is this process's own, and what others left behind goes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.core.scratch import hold
from coterie.gateway.door.spool import ROOT, Quota, SpoolFull, default_root, make_directory, remove_directory


def test_what_a_killed_process_left_goes_and_what_a_living_one_holds_stays(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    root = tmp_path / "spool"
    for pid in (ended.pid, os.getppid()):
        (root / str(pid)).mkdir(parents=True)
    own = root / str(os.getpid())
    make_directory(own)
    assert sorted(path.name for path in root.iterdir()) == sorted((str(os.getppid()), str(os.getpid())))
    assert own.stat().st_mode & 0o777 == 0o700
    remove_directory(own)
    assert [path.name for path in root.iterdir()] == [str(os.getppid())]


def test_what_other_states_have_left_goes_too(tmp_path: Path) -> None:
    abandoned, living = tmp_path / f"{ROOT}gone" / "1", tmp_path / f"{ROOT}other" / "2"
    for directory in (abandoned, living):
        directory.mkdir(parents=True)
    os.close(hold(abandoned))
    lock = hold(living)
    make_directory(tmp_path / f"{ROOT}own" / str(os.getpid()))
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{ROOT}other", f"{ROOT}own"]
    os.close(lock)


def test_a_directory_that_a_link_stands_for_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "spool").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError, match="COTERIE_SPOOL"):
        make_directory(tmp_path / "spool" / "1")


def test_it_lies_apart_from_the_state_and_each_state_has_its_own(tmp_path: Path) -> None:
    one, other = default_root(tmp_path / "one"), default_root(tmp_path / "other")
    assert one != other
    assert not one.is_relative_to(tmp_path)


def test_the_quota_is_for_all_bodies_together(tmp_path: Path) -> None:
    quota = Quota(100, tmp_path)
    quota.take(60)
    with pytest.raises(SpoolFull):
        quota.take(41)
    quota.give_back(60)
    quota.take(100)
