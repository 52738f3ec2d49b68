"""Random faults in all parts of a platform in scaled mode, while real agents learn."""

from pathlib import Path

import pytest

from tests.system.chaos import disturb
from tests.system.scaled import SCALED

pytestmark = [*SCALED, pytest.mark.long]


def test_faults_lose_no_update_and_change_no_bit(database: str, broker: str, tmp_path: Path) -> None:
    found = disturb(database, broker, tmp_path, agents=3, faults=20, every_s=1.5, seed=3)
    assert (found.lost, found.doubled, found.abandoned, found.different) == (0, 0, 0, 0), found
    assert found.rounds >= 3
