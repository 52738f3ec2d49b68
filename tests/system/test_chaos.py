"""Random faults in all parts of a platform in scaled mode, while real agents learn."""

from pathlib import Path

import pytest

from tests.object_storage import swift
from tests.object_storage.broken_line import BrokenLine
from tests.system.chaos import Outcome, disturb
from tests.system.scaled import SCALED
from tests.system.surroundings import can_be_disturbed

pytestmark = [*SCALED, pytest.mark.long, pytest.mark.skipif(not can_be_disturbed(), reason="no C compiler")]


def test_faults_lose_no_update_and_change_no_bit(database: str, broker: str, tmp_path: Path) -> None:
    _check(disturb(database, broker, tmp_path, agents=3, faults=20, every_s=1.5, seed=3))


@pytest.mark.skipif(not swift.is_installed(), reason="no Swift: make test-object-storage installs it")
def test_nor_where_files_are_in_an_object_storage_that_fails(
    database: str, broker: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with swift.running(tmp_path_factory.mktemp("swift")) as server, BrokenLine(server.url) as storage:
        _check(disturb(database, broker, tmp_path, agents=3, faults=20, every_s=1.5, seed=3, storage=storage))


def _check(found: Outcome) -> None:
    assert (found.lost, found.doubled, found.abandoned, found.different) == (0, 0, 0, 0), found
    assert found.rounds >= 3
