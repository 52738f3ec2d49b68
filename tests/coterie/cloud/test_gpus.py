"""Training of cloud models on GPUs; where PyTorch finds none, these tests are skipped and say so."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
import numpy as np
import pytest
import torch

from coterie.child.job import Limits, Progress
from coterie.child.run import run_child
from coterie.cloud import bootstrap_job
from coterie.cloud.bootstrap import bootstrap_stored
from coterie.cloud.bootstrap_job import BootstrapArguments
from coterie.cloud.strategies import STRATEGIES
from tests.coterie.cloud.test_strategies import LEAST_OF
from tests.coterie.cloud.training import arguments_of, write_job

GPUS = torch.cuda.device_count()
pytestmark = pytest.mark.skipif(GPUS == 0, reason="PyTorch finds no GPU on this machine")
ALONE: dict[str, object] = {"kind": "one_process"}
CONFINED = Limits(memory_bytes=16 << 30, confined=True, loopback=True)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("job")
    write_job(directory)
    return directory


@pytest.fixture(scope="module")
def plain_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("plain")
    write_job(directory, plain=True, hidden=3)
    return directory


def on_gpus(
    arguments: BootstrapArguments, gpus: int = 1, how: Mapping[str, object] = MappingProxyType({})
) -> BootstrapArguments:
    """The same training on this host's first GPUs."""
    return msgspec.structs.replace(arguments, gpus=tuple(range(gpus)), **how)


def train(arguments: BootstrapArguments) -> tuple[list[float], bytes]:
    """The losses of the epochs, and the parameters."""
    told: list[Progress] = []
    bootstrap_stored(arguments, told.append)
    return [progress.values["loss"] for progress in told], Path(arguments.output).read_bytes()


def train_in_child(arguments: BootstrapArguments) -> tuple[list[float], bytes]:
    """The same in a confined child, as a job does it."""
    told: list[Progress] = []
    run_child(bootstrap_job.JOB, arguments, limits=CONFINED, on_progress=told.append)
    return [progress.values["loss"] for progress in told], Path(arguments.output).read_bytes()


@pytest.fixture(scope="module")
def on_cores(plain_job: Path) -> list[float]:
    return train(arguments_of(plain_job, ALONE))[0]


def test_a_gpu_has_the_loss_curve_of_cores_and_the_same_bits_each_time(plain_job: Path, on_cores: list[float]) -> None:
    losses, trained = train_in_child(on_gpus(arguments_of(plain_job, ALONE)))
    np.testing.assert_allclose(losses, on_cores, rtol=1e-3)
    assert train_in_child(on_gpus(arguments_of(plain_job, ALONE))) == (losses, trained)


def test_what_goes_on_from_a_checkpoint_has_the_bits_of_what_was_not_interrupted(job: Path, tmp_path: Path) -> None:
    whole = train_in_child(on_gpus(arguments_of(job, ALONE, epochs=4)))
    train_in_child(on_gpus(arguments_of(job, ALONE, epochs=2, checkpoints=tmp_path)))
    went_on = train_in_child(on_gpus(arguments_of(job, ALONE, epochs=4, checkpoints=tmp_path)))
    assert went_on == (whole[0][2:], whole[1])


def test_what_began_on_a_gpu_goes_on_on_cores(plain_job: Path, on_cores: list[float], tmp_path: Path) -> None:
    train(on_gpus(arguments_of(plain_job, ALONE, epochs=2, checkpoints=tmp_path)))
    losses, _ = train(arguments_of(plain_job, ALONE, checkpoints=tmp_path))
    np.testing.assert_allclose(losses, on_cores[2:], rtol=1e-3)


@pytest.mark.parametrize("name", sorted(set(STRATEGIES.kinds) - {"one_process"}))
def test_one_worker_on_a_gpu_trains_what_one_process_does(plain_job: Path, on_cores: list[float], name: str) -> None:
    losses, _ = train(on_gpus(arguments_of(plain_job, {"kind": name, **LEAST_OF[name]})))
    np.testing.assert_allclose(losses, on_cores, rtol=1e-3)


@pytest.mark.parametrize("name", ["sharded", "pipeline", "data_parallel"])
def test_a_strategy_goes_on_from_its_checkpoint_on_a_gpu(job: Path, tmp_path: Path, name: str) -> None:
    strategy = {"kind": name, **LEAST_OF[name]}
    whole = train(on_gpus(arguments_of(job, strategy, epochs=4)))
    train(on_gpus(arguments_of(job, strategy, epochs=2, checkpoints=tmp_path)))
    assert train(on_gpus(arguments_of(job, strategy, epochs=4, checkpoints=tmp_path))) == (whole[0][2:], whole[1])


@pytest.mark.parametrize("strategy", [ALONE, {"kind": "sharded", "workers": 1}, {"kind": "pipeline", "workers": 1}])
@pytest.mark.parametrize("how", [{"precision": "bf16"}, {"compiled": True}, {"precision": "bf16", "compiled": True}])
def test_bf16_and_compiled_passes_learn_alike(
    plain_job: Path, on_cores: list[float], strategy: dict[str, object], how: dict[str, object]
) -> None:
    losses, _ = train(on_gpus(arguments_of(plain_job, strategy), how=how))
    np.testing.assert_allclose(losses, on_cores, rtol=5e-2 if "precision" in how else 1e-3)


@pytest.mark.skipif(GPUS < 2, reason="fewer than two GPUs on this machine")
@pytest.mark.parametrize("name", sorted(set(STRATEGIES.kinds) - {"one_process", "local_sgd"}))
def test_two_workers_on_two_gpus_have_the_loss_curve_of_one_process(
    plain_job: Path, on_cores: list[float], name: str
) -> None:
    losses, _ = train(on_gpus(arguments_of(plain_job, {"kind": name, **LEAST_OF[name], "workers": 2}), 2))
    np.testing.assert_allclose(losses, on_cores, rtol=1e-3)


@pytest.mark.parametrize("hook", [{"hook": "fp16"}, {"hook": "power_sgd", "warm_up_steps": 2}])
def test_compressed_gradients_learn_on_a_gpu(plain_job: Path, hook: dict[str, object]) -> None:
    losses, _ = train(on_gpus(arguments_of(plain_job, {"kind": "data_parallel", "workers": 1, **hook}, epochs=6)))
    assert losses[-1] < losses[0] / 1.5


def test_priority_carries_gradients_from_a_gpu(plain_job: Path, on_cores: list[float]) -> None:
    for name in ("data_parallel", "parameter_server"):
        strategy: dict[str, object] = {"kind": name, "workers": 1, "transfers": "priority", "piece_kib": 1}
        np.testing.assert_allclose(train(on_gpus(arguments_of(plain_job, strategy)))[0], on_cores, rtol=1e-3)
