"""One process tries what a large gang is to train."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie.cloud import rehearsal
from coterie.cloud.errors import CannotSplit, CheckpointLost
from coterie.cloud.rehearsal import rehearse
from coterie.evaluation.datasets import MalformedDataset
from tests.coterie.cloud.training import arguments_of, write_job


def test_what_trains_passes_and_leaves_nothing(tmp_path: Path) -> None:
    write_job(tmp_path)
    (tmp_path / "checkpoints").mkdir()
    arguments = arguments_of(tmp_path, {"kind": "data_parallel", "workers": 4}, checkpoints=tmp_path / "checkpoints")
    found = rehearse(arguments, lambda _: None)
    assert found.memory_bytes > 0
    assert found.step_s > 0
    assert not list((tmp_path / "checkpoints").iterdir())


def test_faults_of_program_and_data_are_found(tmp_path: Path) -> None:
    write_job(tmp_path, plain=True)
    pipeline: dict[str, object] = {"kind": "pipeline", "workers": 4}
    with pytest.raises(CannotSplit):
        rehearse(arguments_of(tmp_path, pipeline), lambda _: None)
    np.savez(tmp_path / "data.npz", x=np.zeros((8, 5), np.float32), y=np.zeros(8, np.int64))
    with pytest.raises(MalformedDataset):
        rehearse(arguments_of(tmp_path, {"kind": "data_parallel", "workers": 4}), lambda _: None)


def test_a_directory_that_keeps_no_checkpoint_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_job(tmp_path)
    (tmp_path / "checkpoints").mkdir()
    arguments = arguments_of(tmp_path, {"kind": "data_parallel", "workers": 4}, checkpoints=tmp_path / "checkpoints")
    monkeypatch.setattr(rehearsal, "replace_file", lambda path, content: path.write_bytes(content[:-1]))
    with pytest.raises(CheckpointLost):
        rehearse(arguments, lambda _: None)
    nowhere = msgspec.structs.replace(arguments, checkpoints=str(tmp_path / "nowhere"))
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError):
        rehearse(nowhere, lambda _: None)
