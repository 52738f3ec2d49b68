"""Every strategy, with real workers: one worker is no strategy at all, several have the loss curve of one process."""

from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie.child.errors import Cancelled
from coterie.child.job import Limits, Progress
from coterie.child.run import run_child
from coterie.cloud import bootstrap_job
from coterie.cloud.bootstrap import bootstrap_stored
from coterie.cloud.errors import CannotSplit
from coterie.cloud.simulation_job import SAVED
from coterie.cloud.strategies import STRATEGIES, parse_strategy, strategy_schema
from coterie_wire.errors import WireError
from tests.coterie.cloud.training import arguments_of, write_job

LEAST_OF = {
    name: {
        field: schema["minimum"]
        for field, schema in described["$defs"][STRATEGIES.kinds[name].__name__]["properties"].items()
        if schema.get("type") == "integer"
    }
    for name, described in strategy_schema().items()
}
"""Each strategy with the least of every whole number: one worker, no stragglers, an averaging after each step."""


def train(directory: Path, **strategy: object) -> tuple[list[Progress], bytes]:
    """The progress of a training in this process, and its parameters."""
    told: list[Progress] = []
    bootstrap_stored(arguments_of(directory, strategy), told.append)
    return told, (directory / "trained").read_bytes()


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("job")
    write_job(directory)
    return directory


@pytest.fixture(scope="module")
def plain_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("plain")
    write_job(directory, plain=True)
    return directory


@pytest.fixture(scope="module")
def alone(plain_job: Path) -> tuple[list[Progress], bytes]:
    return train(plain_job, kind="one_process")


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(STRATEGIES.kinds) - {"one_process"}))
def test_one_worker_trains_what_one_process_does(
    plain_job: Path, alone: tuple[list[Progress], bytes], name: str
) -> None:
    told, trained = train(plain_job, kind=name, **LEAST_OF[name])
    assert trained == alone[1]
    assert [progress.values["validation_loss"] for progress in told] == [
        progress.values["validation_loss"] for progress in alone[0]
    ]


@pytest.mark.long
def test_interleaved_stages_have_the_loss_curve_of_one_process(tmp_path: Path) -> None:
    write_job(tmp_path, plain=True, hidden=3)
    alone, _ = train(tmp_path, kind="one_process")
    for strategy in ({"stages_each": 2}, {"stages_each": 2, "split_before": ["2", "4", "6"]}):
        told, _ = train(tmp_path, kind="pipeline", **strategy)
        np.testing.assert_allclose(
            [progress.values["loss"] for progress in told], [progress.values["loss"] for progress in alone], rtol=1e-4
        )


@pytest.mark.long
def test_a_model_without_so_many_stages_is_refused(plain_job: Path) -> None:
    with pytest.raises(CannotSplit, match="it has no 3 stages; it can be split before 2"):
        train(plain_job, kind="pipeline", workers=3, microbatches=3)


@pytest.mark.long
def test_a_checkpoint_of_shares_is_read_by_another_number_of_workers(plain_job: Path, tmp_path: Path) -> None:
    def losses(epochs: int, directory: Path | None, **strategy: object) -> dict[int, float]:
        told: list[Progress] = []
        bootstrap_stored(arguments_of(plain_job, strategy, epochs=epochs, checkpoints=directory), told.append)
        return {progress.done: progress.values["validation_loss"] for progress in told}

    alone = losses(5, None, kind="one_process")
    found: dict[int, float] = {}
    for epochs, strategy in enumerate(
        (
            {"kind": "sharded", "workers": 3},
            {"kind": "sharded", "workers": 2},
            {"kind": "pipeline", "workers": 2},
            {"kind": "pipeline", "workers": 1, "microbatches": 2},
            {"kind": "sharded", "workers": 1},
        ),
        start=1,
    ):
        went_on = losses(epochs, tmp_path, **strategy)
        assert list(went_on) == [epochs], "it goes on where the others were"
        found |= went_on
    np.testing.assert_allclose(list(found.values()), list(alone.values()), rtol=1e-4)
    assert losses(5, tmp_path, kind="pipeline") == {}, "all epochs are done; the result alone is missing"
    assert losses(5, tmp_path, kind="sharded") == {}


@pytest.mark.long
def test_within_an_epoch_too_another_number_of_workers_goes_on(plain_job: Path, tmp_path: Path) -> None:
    def told(directory: Path | None, most: int, **strategy: object) -> list[Progress]:
        """What is told until something was saved within an epoch `most` times."""
        found: list[Progress] = []

        def report(progress: Progress) -> None:
            found.append(progress)
            if sum(SAVED in one.values for one in found) == most:
                raise Cancelled(job="test")

        arguments = arguments_of(plain_job, strategy, epochs=2, checkpoints=directory)
        with suppress(Cancelled):
            bootstrap_stored(msgspec.structs.replace(arguments, checkpoint_s=0), report)
        return found

    alone = told(None, 1, kind="one_process")
    assert not any("loss" in one.values for one in told(tmp_path, 3, kind="sharded", workers=3))
    assert not any("loss" in one.values for one in told(tmp_path, 2, kind="pipeline", workers=2))
    rest = told(tmp_path, -1, kind="sharded", workers=2)
    assert rest[0].values == {SAVED: 1.0}, "some steps of the first epoch were left"
    epochs = [one for one in rest if "loss" in one.values]
    assert [one.done for one in epochs] == [1, 2]
    for figure in ("loss", "validation_loss"):
        np.testing.assert_allclose(
            [one.values[figure] for one in epochs], [one.values[figure] for one in alone], rtol=1e-4
        )


@pytest.mark.long
@pytest.mark.parametrize("name", ["data_parallel", "local_sgd"])
def test_the_first_worker_draws_the_dropout_of_one_process(job: Path, name: str) -> None:
    assert train(job, kind=name, **LEAST_OF[name])[1] == train(job, kind="one_process")[1]


@pytest.mark.parametrize(
    "strategy",
    [
        {"kind": "data_parallel", "workers": 3},
        pytest.param(
            {"kind": "data_parallel", "workers": 3, "transfers": "priority", "piece_kib": 1}, marks=pytest.mark.long
        ),
        pytest.param({"kind": "sharded", "workers": 3}, marks=pytest.mark.long),
        pytest.param({"kind": "pipeline", "workers": 2}, marks=pytest.mark.long),
        pytest.param({"kind": "parameter_server", "workers": 3}, marks=pytest.mark.long),
        pytest.param({"kind": "parameter_server", "workers": 2, "servers": 2, "piece_kib": 1}, marks=pytest.mark.long),
        pytest.param({"kind": "coded", "workers": 3, "stragglers": 1, "code": "cyclic"}, marks=pytest.mark.long),
        pytest.param({"kind": "coded", "workers": 2, "stragglers": 1, "code": "repetition"}, marks=pytest.mark.long),
    ],
    ids=lambda strategy: f"{strategy['kind']} {strategy['workers']}",
)
def test_synchronous_strategies_have_the_loss_curve_of_one_process(
    plain_job: Path, alone: tuple[list[Progress], bytes], strategy: dict[str, object]
) -> None:
    told, _ = train(plain_job, **strategy)
    for name in ("loss", "validation_loss"):
        found, expected = ([progress.values[name] for progress in curve] for curve in (told, alone[0]))
        np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert told[-1].values["workers"] == strategy["workers"]
    assert told[-1].values["samples_per_second"] > 0
    assert 0 < told[-1].values["communication_share"] <= 1


@pytest.mark.long
@pytest.mark.parametrize("piece_kib", [1, 512])
def test_whatever_travels_first_two_workers_have_the_same_bits(job: Path, piece_kib: int) -> None:
    by_buckets = train(job, kind="data_parallel", workers=2)
    by_priority = train(job, kind="data_parallel", workers=2, transfers="priority", piece_kib=piece_kib)
    assert by_priority[1] == by_buckets[1]
    for name in ("loss", "validation_loss"):
        told = ([progress.values[name] for progress in curve] for curve, _ in (by_priority, by_buckets))
        assert next(told) == next(told)


@pytest.mark.long
def test_neither_servers_nor_what_travels_first_change_the_bits(job: Path) -> None:
    one = train(job, kind="parameter_server")[1]
    for settings in ({"servers": 2}, {"servers": 2, "transfers": "priority"}):
        assert train(job, kind="parameter_server", piece_kib=1, **settings)[1] == one


def test_compressed_gradients_do_not_travel_by_priority() -> None:
    with pytest.raises(WireError, match="hook fp16 compresses buckets"):
        parse_strategy({"kind": "data_parallel", "hook": "fp16", "transfers": "priority"})


@pytest.mark.long
@pytest.mark.parametrize(
    "strategy",
    [
        {"kind": "data_parallel", "hook": "fp16"},
        {"kind": "data_parallel", "hook": "power_sgd", "warm_up_steps": 2},
        {"kind": "local_sgd", "period": 4, "interval_steps": 8},
        {"kind": "parameter_server", "updates": "asynchronous"},
        {"kind": "parameter_server", "updates": "bounded", "staleness": 1, "servers": 2, "piece_kib": 1},
    ],
    ids=lambda strategy: " ".join(map(str, strategy.values())),
)
def test_other_strategies_learn_in_the_confined_child_of_a_job(job: Path, strategy: dict[str, object]) -> None:
    told: list[Progress] = []
    result = run_child(
        bootstrap_job.JOB,
        arguments_of(job, strategy, epochs=8),
        limits=Limits(memory_bytes=8 << 30, confined=True),
        on_progress=told.append,
    )
    assert result.validation_accuracy is not None
    assert result.validation_accuracy > 0.75
    assert told[-1].values["loss"] < told[0].values["loss"] / 1.5
