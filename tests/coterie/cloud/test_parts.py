"""Checkpoints in parts: whoever wrote them, however many read them, nothing of a tensor is lost or doubled."""

from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.cloud.checkpoints import read_file
from coterie.cloud.epochs import Moment
from coterie.cloud.parts import OwnParts, RowSpan, delete_other_parts, join_parts, part_path, part_paths, share_of_rows
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
        found = join_parts(files, {"whole": span, "step": RowSpan(0, 1)}.get)
        assert found["step"] == 7
        assert "other" not in found
        read.append(found["whole"])
    np.testing.assert_array_equal(np.concatenate(read), whole)


def test_a_missing_part_makes_the_checkpoint_none(tmp_path: Path) -> None:
    paths = [part_path(tmp_path, worker, 11, Moment(3, 17)) for worker in range(11)]
    for path in paths:
        path.touch()
    assert part_paths(tmp_path, Moment(3, 17)) == paths, "in the order of workers"
    paths[-1].unlink()
    assert part_paths(tmp_path, Moment(3, 17)) == []
    assert part_paths(tmp_path, Moment(3)) == []


def test_parts_of_an_attempt_that_does_not_count_are_removed(tmp_path: Path) -> None:
    counted = [part_path(tmp_path, worker, 2, Moment(3)) for worker in range(2)]
    further = [part_path(tmp_path, 0, 3, Moment(4)), part_path(tmp_path, 0, 2, Moment(3, 1))]
    for path in (*counted, *further):
        path.touch()
    delete_other_parts(tmp_path, Moment(3))
    assert sorted(tmp_path.iterdir()) == counted


def test_a_worker_keeps_the_part_that_counts_until_all_have_written_the_one_after(tmp_path: Path) -> None:
    moments = [Moment(), Moment(0, 4), Moment(1), Moment(1, 2)]
    own = OwnParts(tmp_path, 1, 2, moments[0])
    for former, at in pairwise(moments):
        own.write(at, b"numbers")
        assert own.path(former).exists() == (former != Moment()), "others may not have written theirs"
        own.delete_older(at)
    assert sorted(tmp_path.iterdir()) == [own.path(Moment(1)), own.path(Moment(1, 2))]
    own.write(Moment(1, 2), b"once more")
    own.delete_older(Moment(1, 2))
    assert read_file(own.path(Moment(1, 2))) == b"once more"
    assert own.path(Moment(1)).exists()
