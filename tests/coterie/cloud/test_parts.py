"""Checkpoints in parts: whoever wrote them, however many read them, nothing of a tensor is lost or doubled."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.cloud.parts import Span, forget_other_parts, join_parts, part_path, part_paths, share_of_rows
from coterie_wire.tensors import encode_tensors

COUNTS = st.integers(1, 7)


@given(st.integers(1, 20), COUNTS, COUNTS)
def test_any_number_of_workers_reads_what_any_number_wrote(rows: int, writers: int, readers: int) -> None:
    whole = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
    files = []
    for worker in range(writers):
        start, stop = share_of_rows(rows, worker, writers)
        shared = {"step": np.float32(7), "whole": whole[start:stop], "other": whole[:1]}
        files.append(encode_tensors({name: np.asarray(array) for name, array in shared.items() if array.size}))
    read = []
    for worker in range(readers):
        span = share_of_rows(rows, worker, readers)
        found = join_parts(files, {"whole": span, "step": Span(0, 1)}.get)
        assert found["step"] == 7
        assert "other" not in found
        read.append(found["whole"])
    np.testing.assert_array_equal(np.concatenate(read), whole)


def test_a_missing_part_makes_the_checkpoint_none(tmp_path: Path) -> None:
    paths = [part_path(tmp_path, worker, 11, epochs=3) for worker in range(11)]
    for path in paths:
        path.touch()
    assert part_paths(tmp_path, 3) == paths, "in the order of workers"
    paths[-1].unlink()
    assert part_paths(tmp_path, 3) == []
    assert part_paths(tmp_path, 2) == []


def test_parts_of_an_attempt_that_does_not_count_are_removed(tmp_path: Path) -> None:
    counted = [part_path(tmp_path, worker, 2, epochs=3) for worker in range(2)]
    further = part_path(tmp_path, 0, 3, epochs=4)
    for path in (*counted, further):
        path.touch()
    forget_other_parts(tmp_path, 3)
    assert part_paths(tmp_path, 3) == counted
    assert not further.exists()
