"""Checkpoints between two steps: wherever a training ends, what goes on from there has the bits of what never ended."""

from pathlib import Path

import msgspec
import pytest

from coterie.child.job import Progress
from coterie.cloud.alone import train_alone
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.epoch_loop import stored_epochs
from coterie.cloud.epochs import Moment
from coterie.cloud.simulation_job import SAVED
from tests.coterie.cloud.training import arguments_of, write_job

ALONE: dict[str, object] = {"kind": "one_process"}


class Interrupted(Exception):
    """The training is to end here."""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("job")
    write_job(directory)
    return directory


def train(arguments: BootstrapArguments, *, most: int | None = None) -> tuple[BootstrapResult | None, list[Progress]]:
    """Until it ends, or until it has told something `most` times."""
    told: list[Progress] = []

    def report(progress: Progress) -> None:
        told.append(progress)
        if len(told) == most:
            raise Interrupted

    try:
        return train_alone(arguments, report), told
    except Interrupted:
        return None, told


@pytest.mark.parametrize("most", [1, 2, 5])
def test_however_often_it_is_interrupted_the_result_has_the_same_bits(job: Path, tmp_path: Path, most: int) -> None:
    whole, told = train(arguments_of(job, ALONE, epochs=2))
    expected, curve = Path(job, "trained").read_bytes(), [progress.values["loss"] for progress in told]
    arguments = msgspec.structs.replace(arguments_of(job, ALONE, epochs=2, checkpoints=tmp_path), checkpoint_s=0)
    moments, losses = list[Moment](), list[float]()
    result = None
    while result is None:
        result, told = train(arguments, most=most)
        losses += [progress.values["loss"] for progress in told if SAVED not in progress.values]
        stored = stored_epochs(str(tmp_path))
        assert stored is not None
        moments.append(stored.moment)
    assert len(moments) > 10 / most, "it was interrupted within epochs"
    assert moments == sorted(moments), "each attempt goes on where the one before was"
    assert (result, Path(job, "trained").read_bytes()) == (whole, expected)
    assert losses == curve, "the loss of an epoch is that of all of its steps, and is told once"


def test_an_epoch_shorter_than_the_time_between_two_checkpoints_has_none_within(job: Path, tmp_path: Path) -> None:
    _, told = train(arguments_of(job, ALONE, epochs=2, checkpoints=tmp_path))
    assert [SAVED in progress.values for progress in told] == [False, False]


def test_what_is_told_is_on_the_disk(job: Path, tmp_path: Path) -> None:
    arguments = msgspec.structs.replace(arguments_of(job, ALONE, epochs=1, checkpoints=tmp_path), checkpoint_s=0)
    moments = list[Moment]()

    def report(progress: Progress) -> None:
        stored = stored_epochs(str(tmp_path))
        assert stored is not None
        moments.append(stored.moment)

    train_alone(arguments, report)
    assert moments == [*(Moment(0, step) for step in range(1, len(moments))), Moment(1)]


def test_a_checkpoint_that_cannot_be_written_ends_the_training(job: Path, tmp_path: Path) -> None:
    (tmp_path / "training.part").mkdir()
    with pytest.raises(IsADirectoryError):
        train(arguments_of(job, ALONE, epochs=2, checkpoints=tmp_path))
    assert stored_epochs(str(tmp_path)) is None
