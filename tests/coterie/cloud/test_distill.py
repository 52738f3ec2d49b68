"""A device model that is distilled: wherever it ends, what goes on from there has the bits of what never ended."""

import threading
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from torch import nn

from coterie.child.errors import Cancelled
from coterie.child.job import Limits, Progress
from coterie.child.run import run_child
from coterie.cloud import distill_job
from coterie.cloud.checkpoints import read_checkpoint
from coterie.cloud.distill import checkpoints_of, distill_stored
from coterie.cloud.distill_job import DistillArguments, DistillResult
from coterie.cloud.epochs import Moment
from coterie.cloud.program import CloudProgram
from coterie.cloud.simulation_job import SAVED
from coterie.compile.compiled import compile_model
from coterie.compile.program import export_module
from coterie.compile.upload import load_upload
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import encode_tensors

FEATURES, CLASSES, SAMPLES, EPOCHS = 4, 3, 90, 4
LIMITS = Limits(memory_bytes=8 << 30, confined=True)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pair's files, and samples whose class is the largest of the first three features."""
    path = tmp_path_factory.mktemp("pair")
    torch.manual_seed(0)
    device = nn.Sequential(nn.Linear(FEATURES, 8), nn.Dropout(0.2), nn.Linear(8, CLASSES))
    torch.export.save(export_module(nn.Linear(FEATURES, CLASSES), [torch.zeros(2, FEATURES)]), path / "cloud.pt2")
    (path / "cloud").write_bytes(CloudProgram(load_upload(path / "cloud.pt2")).save())
    compiled = compile_model(export_module(device, [torch.zeros(2, FEATURES)]), batch_size=8)
    (path / "train_step").write_bytes(compiled.train_step)
    (path / "predict").write_bytes(compiled.predict)
    (path / "spec").write_bytes(msgspec.json.encode(compiled.spec))
    (path / "device").write_bytes(encode_tensors(compiled.parameters))
    x = np.random.default_rng(0).normal(size=(SAMPLES, FEATURES)).astype(np.float32)
    np.savez(path / "data.npz", x=x, y=x[:, :CLASSES].argmax(axis=1))
    return path


def arguments(pair: Path, place: Path, *, checkpoints: bool = True, learning_rate: float = 0.05) -> DistillArguments:
    place.mkdir(exist_ok=True)
    return DistillArguments(
        model=msgspec.json.decode((pair / "spec").read_bytes(), type=ModelSpec),
        train_step=str(pair / "train_step"),
        predict=str(pair / "predict"),
        parameters=str(pair / "device"),
        cloud=str(pair / "cloud.pt2"),
        cloud_parameters=str(pair / "cloud"),
        dataset=str(pair / "data.npz"),
        frozen=None,
        recipe={},
        loss=None,
        output=str(place / "distilled"),
        epochs=EPOCHS,
        patience=EPOCHS,
        learning_rate=learning_rate,
        seed=3,
        checkpoints=str(place) if checkpoints else None,
        checkpoint_s=0,
    )


def interrupted(given: DistillArguments, most: int) -> tuple[DistillResult | None, list[Progress]]:
    """Until it ends, or until it has told something `most` times."""
    told: list[Progress] = []

    def report(progress: Progress) -> None:
        told.append(progress)
        if len(told) == most:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        return distill_stored(given, report), told
    return None, told


@pytest.mark.parametrize("most", [1, 3, 8])
def test_however_often_it_is_interrupted_the_result_has_the_same_bits(pair: Path, tmp_path: Path, most: int) -> None:
    whole, told = interrupted(arguments(pair, tmp_path / "whole", checkpoints=False), 0)
    assert [progress.done for progress in told] == list(range(1, EPOCHS + 1)), "it keeps nothing"
    given, moments = arguments(pair, tmp_path / "broken"), list[Moment]()
    losses, result = list[float](), None
    while result is None:
        result, found = interrupted(given, most)
        losses += [progress.values["loss"] for progress in found if "loss" in progress.values]
        assert all(SAVED in progress.values for progress in found)
        path = checkpoints_of(given, 0).path
        assert path is not None
        stored = read_checkpoint(path)
        assert stored is not None, "what is told is on the disk"
        moments.append(stored.moment)
    assert moments == sorted(moments) and sum(moment.steps > 0 for moment in moments) > 10 / most
    assert losses == [progress.values["loss"] for progress in told], "each epoch is told once, with all of its steps"
    assert result == whole
    assert Path(given.output).read_bytes() == Path(tmp_path / "whole" / "distilled").read_bytes()


def test_a_child_that_is_killed_goes_on_with_the_same_bits(pair: Path, tmp_path: Path) -> None:
    whole = run_child(distill_job.JOB, arguments(pair, tmp_path / "whole"), limits=LIMITS)
    given = arguments(pair, tmp_path / "broken")
    for lives in (3, 9):
        cancel, left = threading.Event(), [lives]

        def kill(_progress: Progress, cancel: threading.Event = cancel, left: list[int] = left) -> None:
            left[0] -= 1
            if not left[0]:
                cancel.set()

        with pytest.raises(Cancelled):  # by SIGKILL
            run_child(distill_job.JOB, given, limits=LIMITS, on_progress=kill, cancel=cancel)
    assert run_child(distill_job.JOB, given, limits=LIMITS) == whole
    assert Path(given.output).read_bytes() == Path(tmp_path / "whole" / "distilled").read_bytes()


def test_another_teacher_has_it_begin_anew(pair: Path, tmp_path: Path) -> None:
    given = arguments(pair, tmp_path)
    interrupted(given, 20)
    torch.manual_seed(1)
    other = tmp_path / "other"
    torch.export.save(export_module(nn.Linear(FEATURES, CLASSES), [torch.zeros(2, FEATURES)]), other)
    taught = tmp_path / "cloud"
    taught.write_bytes(CloudProgram(load_upload(other)).save())
    moved = msgspec.structs.replace(given, cloud_parameters=str(taught))
    expected = distill_stored(msgspec.structs.replace(moved, checkpoints=None), lambda _: None)
    assert distill_stored(moved, lambda _: None) == expected


def test_a_step_size_under_which_it_diverged_is_left_again_after_an_interruption(pair: Path, tmp_path: Path) -> None:
    whole, _ = interrupted(arguments(pair, tmp_path / "whole", checkpoints=False, learning_rate=10.0), 0)
    assert whole is not None and whole.learning_rate == 2.5
    given = arguments(pair, tmp_path / "broken", learning_rate=10.0)
    result = None
    while result is None:
        result, _ = interrupted(given, 7)
    assert result == whole
