from pathlib import Path

import pytest

from coterie.compile.errors import BatchOutOfRange
from coterie.offline.check import check_programs


def test_batches_of_nothing_are_refused_before_a_child_process_begins(tmp_path: Path) -> None:
    with pytest.raises(BatchOutOfRange, match="batches of 1 to 4096 samples, not of 0"):
        check_programs(device=tmp_path / "device.pt2", recipe={}, batch_size=0)
